/**
 * A stream that one actor has to itself: every step it takes is told before and after, so that all states in which a
 * kill may leave the stream are known, and the stream is in one of them, exactly.
 */
import assert from 'node:assert/strict';
import type { Store } from '../../src/index.ts';
import type { Content } from './expectation.ts';
import { readWhole } from './reading.ts';
import { keyOf, markOf, valuesOf } from './values.ts';

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

const NEW_STREAM: StreamState = { firstOffset: 0, values: [], compression: 'lz4', maxAge: undefined };

/** Every state that a step may be cut off in; the last one is what it does when it is not. */
function statesOf(state: StreamState, step: Step): readonly StreamState[] {
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

/** The state once retention has removed what lies below an offset. */
function startedAt(state: StreamState, firstOffset: number): StreamState {
  const removed = firstOffset - state.firstOffset;
  if (removed <= 0 || removed > state.values.length) return state;
  return { ...state, firstOffset, values: state.values.slice(removed) };
}

interface FoundStream {
  readonly firstOffset: number;
  readonly nextOffset: number;
  readonly content: Content;
  readonly compression: 'lz4' | 'none';
  readonly maxAge: number | undefined;
}

/** What may become of records without a step. */
export interface OwnedStreamTraits {
  /** Compaction may have removed records whose key has a later one. Default false. */
  readonly keyed?: boolean;
  /** Retention may have removed the first records. Default false. */
  readonly retained?: boolean;
}

export class OwnedStream {
  readonly #keyed: boolean;
  readonly #retained: boolean;
  /** What the stream may be like. */
  #states: readonly StreamState[] = [NEW_STREAM];
  /** Those of `#states` in which the step under way is done. */
  #done: readonly StreamState[] = this.#states;

  constructor({ keyed = false, retained = false }: OwnedStreamTraits) {
    this.#keyed = keyed;
    this.#retained = retained;
  }

  begin(step: Step): void {
    const outcomes = this.#states.map((state) => statesOf(state, step));
    this.#states = outcomes.flat();
    this.#done = outcomes.flatMap((states) => states.slice(-1));
  }

  /** Forgets what lies below an offset that retention was seen to have reached. */
  forget(firstOffset: number): void {
    if (!this.#retained) return;
    this.#states = this.#states.map((state) => startedAt(state, firstOffset));
    this.#done = this.#done.map((state) => startedAt(state, firstOffset));
  }

  /** Somebody was told that the step is done. */
  finish(): void {
    this.#states = this.#done;
  }

  async check(store: Store, name: string): Promise<Content> {
    const stream = await store.stream(name);
    const { info, content } = await readWhole(stream);
    const { firstOffset, nextOffset } = info;
    const { compression, retention } = stream.config;
    this.forget(firstOffset);
    const found = { firstOffset, nextOffset, content, compression, maxAge: retention.maxAge };
    const states = this.#states.filter((candidate) => this.#fits(candidate, found));
    assert.ok(states.length > 0, `${name} is none of what it may be:\n${this.#describe(found)}`);
    this.#states = states;
    this.#done = states;
    return content;
  }

  checkSeen(name: string, content: Content): void {
    this.forget(content[0]?.offset ?? 0);
    const isKnown = this.#states.some((state) => this.#holds(state, content));
    assert.ok(isKnown, `${name}: what can be read of it is none of what it may be`);
  }

  #fits(state: StreamState, found: FoundStream): boolean {
    return (
      state.firstOffset === found.firstOffset &&
      state.firstOffset + state.values.length === found.nextOffset &&
      state.compression === found.compression &&
      state.maxAge === found.maxAge &&
      this.#holds(state, found.content)
    );
  }

  /** Whether `content` is all of the state, or, where records have keys, what compaction may have left of it. */
  #holds({ firstOffset, values }: StreamState, content: Content): boolean {
    const isPart = content.every(({ offset, value }) => values[offset - firstOffset] === value);
    const increases = content.every(({ offset }, index) => index === 0 || offset > (content[index - 1]?.offset ?? 0));
    if (!isPart || !increases) return false;
    if (!this.#keyed) return content.length === values.length;
    const offsets = new Set(content.map(({ offset }) => offset));
    const latest = new Map(values.map((value, index) => [keyOf(markOf(value).append), firstOffset + index]));
    return [...latest.values()].every((offset) => offsets.has(offset));
  }

  #describe(found: FoundStream): string {
    const { firstOffset, nextOffset, content, compression, maxAge } = found;
    const head = `${firstOffset} to ${nextOffset}, ${content.length} records, ${compression} ${maxAge}`;
    const last = marksOf(content.slice(-12).map(({ value }) => value));
    const lines = this.#states.map((state) => {
      const { values, firstOffset: first } = state;
      const settings = `${values.length} records, ${state.compression} ${state.maxAge}`;
      return `not ${first} to ${first + values.length}, ${settings}${differenceOf(state, content)}`;
    });
    return [`${head}, the last ${last}`, ...lines].join('\n');
  }
}

/** Where what was found begins to be another, and what lies there. */
function differenceOf({ firstOffset, values }: StreamState, content: Content): string {
  const index = content.findIndex(({ offset, value }, at) => offset !== firstOffset + at || values[at] !== value);
  const at = index === -1 ? Math.min(values.length, content.length) : index;
  if (at === values.length && at === content.length) return ', the same records';
  const found = content.slice(at, at + 4).map(({ offset, value }) => `${offset}: ${marksOf([value])}`);
  return `, from ${firstOffset + at}: ${marksOf(values.slice(at, at + 4))}; found ${found.join(', ')}`;
}

function marksOf(values: readonly string[]): string {
  return values.map((value) => value.split(' ', 3).join(' ')).join(', ');
}
