/** The actor that has a stream to itself: it takes one step after the other, and tells of each before and after. */
import type { Random } from '../../src/base/random.ts';
import type { RecordInput } from '../../src/index.ts';
import { type Cast, GROUP_MAX, pause } from './actors.ts';
import type { Step } from './owned-stream.ts';
import { report } from './reports.ts';
import { keyOf, valuesOf } from './values.ts';

const APPENDS_MAX = 6;
const DAY = 86_400_000;

/** Ends only when a step fails or the signal fires. */
export async function own(name: string, cast: Cast): Promise<void> {
  while (!cast.signal.aborted) {
    await pause(cast.random);
    const step = await chooseStep(name, cast);
    report({ type: 'step', stream: name, step });
    await take(cast, name, step);
    report({ type: 'done', stream: name });
  }
}

export function chooseAppends(random: Random, nextName: () => string): Extract<Step, { kind: 'append' }> {
  const appends = Array.from({ length: 1 + random.below(APPENDS_MAX) }, () => {
    return { append: nextName(), count: random.below(3) === 0 ? 1 + random.below(GROUP_MAX) : 1 };
  });
  return { kind: 'append', appends };
}

async function chooseStep(name: string, { store, workload, random, nextName }: Cast): Promise<Step> {
  const steps = workload.owned?.steps ?? [];
  const kind = steps[random.below(steps.length)] ?? 'append';
  if (kind === 'delete') return { kind };
  if (kind === 'append') return chooseAppends(random, nextName);
  if (kind === 'configure') {
    // Records of this age are never met: what is tested is that the setting holds.
    return { kind, compression: random.below(2) === 0 ? 'lz4' : 'none', maxAge: DAY * (1 + random.below(1_000)) };
  }
  const { firstOffset, nextOffset } = await (await store.stream(name)).info();
  const few = 1 + random.below(Math.min(40, nextOffset - firstOffset + 1));
  return { kind, offset: kind === 'trim' ? firstOffset + few - 1 : nextOffset - few + 1 };
}

async function take({ store, workload }: Cast, name: string, step: Step): Promise<void> {
  if (step.kind === 'delete') {
    await store.deleteStream(name);
    return;
  }
  const keyed = workload.owned?.keyed === true;
  const stream = await store.stream(name, keyed ? { cleanup: 'compact' } : {});
  if (step.kind === 'append') {
    const recordsOf = (append: string, count: number): RecordInput[] =>
      valuesOf(append, count).map((value) => (keyed ? { value, key: keyOf(append) } : value));
    await Promise.all(step.appends.map(({ append, count }) => stream.appendMany(recordsOf(append, count))));
  } else if (step.kind === 'truncate') {
    await stream.truncate({ after: step.offset - 1 });
  } else if (step.kind === 'trim') {
    await stream.trim(step.offset);
  } else {
    const { compression, maxAge } = step;
    await stream.configure({ compression, retention: { maxAge } });
  }
}
