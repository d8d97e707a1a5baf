/**
 * A stream that one actor has to itself: every step it takes is told before and after, so that all states in which a
 * kill may leave the stream are known, and the stream is in one of them, exactly.
 */
import assert from 'node:assert/strict';
import type { Store } from '../../src/index.ts';
import type { Content } from './expectation.ts';
import { valuesOf } from './values.ts';

export type Step =
  /** Called one after the other, without waiting in between. */
  | { readonly kind: 'append'; readonly appends: readonly { readonly append: string; readonly count: number }[] }
  /** The stream ends, or begins, at this offset. */
  | { readonly kind: 'truncate'; readonly offset: number }
  | { readonly kind: 'trim'; readonly offset: number }
  | { readonly kind: 'delete' }
  | { readonly kind: 'configure'; readonly compression: 'lz4' | 'none'; readonly maxAge: number };

export interface StreamState {
  readonly firstOffset: number;
  readonly values: readonly string[];
  readonly compression: 'lz4' | 'none';
  readonly maxAge: number | undefined;
}

export const NEW_STREAM: StreamState = { firstOffset: 0, values: [], compression: 'lz4', maxAge: undefined };

/** Every state that a step may be cut off in; the last one is what it does when it is not. */
export function statesOf(state: StreamState, step: Step): readonly StreamState[] {
  const { firstOffset, values } = state;
  if (step.kind === 'append') {
    const states = [state];
    for (const { append, count } of step.appends) {
      const last = states.at(-1) ?? state;
      states.push({ ...last, values: [...last.values, ...valuesOf(append, count)] });
    }
    return states;
  }
  if (step.kind === 'truncate') return [state, { ...state, values: values.slice(0, step.offset - firstOffset) }];
  if (step.kind === 'trim') {
    const trimmed = { ...state, firstOffset: step.offset, values: values.slice(step.offset - firstOffset) };
    return step.offset > firstOffset ? [state, trimmed] : [state];
  }
  if (step.kind === 'delete') return [state, NEW_STREAM];
  return [state, { ...state, compression: step.compression, maxAge: step.maxAge }];
}

export class OwnedStream {
  /** What the stream may be like. */
  #states: readonly StreamState[] = [NEW_STREAM];
  /** Those of `#states` in which the step under way is done. */
  #done: readonly StreamState[] = this.#states;

  begin(step: Step): void {
    const outcomes = this.#states.map((state) => statesOf(state, step));
    this.#states = outcomes.flat();
    this.#done = outcomes.flatMap((states) => states.slice(-1));
  }

  /** Somebody was told that the step is done. */
  finish(): void {
    this.#states = this.#done;
  }

  async check(store: Store, name: string): Promise<Content> {
    const stream = await store.stream(name);
    const { firstOffset, nextOffset } = await stream.info();
    const content: { offset: number; value: string }[] = [];
    for await (const { offset, value } of stream.read()) content.push({ offset, value: value?.toString() ?? '' });
    const { compression, retention } = stream.config;
    const found = { firstOffset, values: content.map(({ value }) => value), compression, maxAge: retention.maxAge };
    const state = this.#states.find((candidate) => isSame(candidate, found));
    assert.ok(state !== undefined, `${name} is none of what it may be:\n${this.#describe(found)}`);
    assert.equal(nextOffset, firstOffset + content.length, `${name}: its next offset`);
    content.forEach(({ offset }, index) => assert.equal(offset, firstOffset + index, `${name}: offsets are dense`));
    this.#states = [state];
    this.#done = this.#states;
    return content;
  }

  checkSeen(name: string, content: Content): void {
    const values = content.map(({ value }) => value);
    const isKnown = this.#states.some((state) => isSame(state, { ...state, values }));
    assert.ok(isKnown, `${name}: what can be read of it is none of what it may be`);
  }

  #describe(found: StreamState): string {
    const text = ({ firstOffset, values, compression, maxAge }: StreamState): string => {
      const names = values.map((value) => value.split(' ', 3).join(' '));
      return `${firstOffset}: ${names.slice(-12).join(', ')} (${values.length}) ${compression} ${maxAge ?? ''}`;
    };
    return [found, ...this.#states].map(text).join('\nnot ');
  }
}

function isSame(left: StreamState, right: StreamState): boolean {
  return (
    left.firstOffset === right.firstOffset &&
    left.compression === right.compression &&
    left.maxAge === right.maxAge &&
    left.values.length === right.values.length &&
    left.values.every((value, index) => value === right.values[index])
  );
}
