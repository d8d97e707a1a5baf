/** Carries out a plan on a store, from wherever it stands. The child and, after the crash, its parent run the same. */
import type { Histogram } from 'hdr-histogram-js';
import type { RecordInput, Store, Stream } from '../../src/index.ts';
import type { Plan, Step } from './plan.ts';

/** Steps whose acknowledgement is waited for at once. */
const STEPS_IN_FLIGHT = 16;
const MICROSECONDS = 1_000;

export interface IngestObserver {
  /** Time from the call to its acknowledgement in microseconds. */
  readonly latency: { readonly append: Histogram; readonly appendMany: Histogram };
  /** Records `first` to `next` - 1 of the stream are durable. */
  acknowledged(stream: number, first: number, next: number): void;
}

/** The streams of the plan, in its order. */
export function openStreams(store: Store, plan: Plan): Promise<Stream[]> {
  return Promise.all(plan.corpus.map(({ name }) => store.stream(name)));
}

/** Where each stream ends. */
function nextOffsets(streams: readonly Stream[]): Promise<number[]> {
  return Promise.all(streams.map(async (stream) => (await stream.info()).nextOffset));
}

/** Appends what the streams lack. Resolves when everything is acknowledged. */
export async function ingest(streams: readonly Stream[], plan: Plan, observer: IngestObserver): Promise<void> {
  const positions = await nextOffsets(streams);
  const inFlight = new Set<Promise<void>>();
  for (let steps = 0; ; steps += 1) {
    const step = plan.next(positions, steps);
    if (step === undefined) break;
    positions[step.stream] = step.first + step.count;
    const stream = streams[step.stream] as Stream;
    const work = (step.singly ? appendSingly : appendTogether)(stream, plan, step, observer).then(() => {
      inFlight.delete(work);
      observer.acknowledged(step.stream, step.first, step.first + step.count);
    });
    inFlight.add(work);
    if (inFlight.size >= STEPS_IN_FLIGHT) await Promise.race(inFlight);
  }
  await Promise.all(inFlight);
}

async function appendTogether(stream: Stream, plan: Plan, step: Step, observer: IngestObserver): Promise<void> {
  const records: RecordInput[] = [];
  for (let index = step.first; index < step.first + step.count; index += 1) {
    records.push({ value: plan.value(step.stream, index), timestamp: plan.timestamp(index) });
  }
  const start = performance.now();
  const offset = await stream.appendMany(records);
  observer.latency.appendMany.recordValue((performance.now() - start) * MICROSECONDS);
  checkOffset(stream, step.first, offset);
}

async function appendSingly(stream: Stream, plan: Plan, step: Step, observer: IngestObserver): Promise<void> {
  const appends: Promise<void>[] = [];
  for (let index = step.first; index < step.first + step.count; index += 1) {
    const start = performance.now();
    const timestamp = plan.timestamp(index);
    const settled = stream.append(plan.value(step.stream, index), { timestamp }).then((offset) => {
      observer.latency.append.recordValue((performance.now() - start) * MICROSECONDS);
      checkOffset(stream, index, offset);
    });
    appends.push(settled);
  }
  await Promise.all(appends);
}

function checkOffset(stream: Stream, expected: number, found: number): void {
  if (found !== expected) throw new Error(`${stream.name}: offset ${found} was assigned where ${expected} was due`);
}
