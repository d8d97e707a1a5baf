/** What opening a stream costs that has lived long: the state of all its consumers, out of its newest segments. */
import { TRACKING_ENTRY, type TrackingEntry } from '../../src/record/tracking-format.ts';
import { FlushedStream } from '../../test/support/flushed-stream.ts';
import { spreadOf } from '../statistics.ts';
import { takeTurns, type Values, type Workload } from '../workload.ts';

const REFERENCES = 10_000;
const HISTORY = { objects: 100, runsEach: 1_000 };
const HISTORY_QUICK = { objects: 10, runsEach: 100 };
const LOG_BYTES = 4 * 1_024 * 1_024;
/** A load takes milliseconds, and a collection of garbage as many: the median of these counts. */
const LOADS = 15;
/** Runs of deltas behind the snapshot. */
const DELTAS = 3;
/** Calls to the object store for each of them and for the snapshot: size, footer and chunk of a segment. */
const READS_MAX = 4 * (1 + DELTAS);

export const openingStream: Workload = {
  name: 'open-stream',
  what: `reads the offsets of ${REFERENCES.toLocaleString('en')} consumers behind 100,000 runs of history, in memory`,
  floor: 'millrace with the same consumers and no history',
  figures: [
    { name: 'time', unit: 'ms', better: 'lower', target: { subject: 'ratio', bound: 'at most', limit: 1.5 } },
    {
      name: 'reads',
      unit: 'operations',
      better: 'lower',
      target: { subject: 'value', bound: 'at most', limit: READS_MAX },
    },
  ],
  prepare: async ({ quick }) => {
    const long = await streamOf(quick ? HISTORY_QUICK : HISTORY);
    const short = await streamOf({ objects: 0, runsEach: 0 });
    return {
      round: takeTurns(
        () => load(short),
        () => load(long),
      ),
      close: async () => undefined,
    };
  },
};

async function streamOf({ objects, runsEach }: typeof HISTORY): Promise<FlushedStream> {
  const stream = await FlushedStream.open(LOG_BYTES);
  if (objects > 0) await stream.pretend(objects, runsEach);
  stream.log.append(['a record']);
  await stream.flush(Array.from({ length: REFERENCES }, (_, index) => offsetOf(`consumer ${index}`, index)));
  for (let delta = 0; delta < DELTAS; delta += 1) {
    stream.log.track([offsetOf('consumer 7', stream.log.nextOffset - 1)]);
    await stream.flush();
  }
  return stream;
}

function offsetOf(reference: string, offset: number): TrackingEntry {
  return { type: TRACKING_ENTRY.offset, reference, offset };
}

async function load(stream: FlushedStream): Promise<Values> {
  const before = stream.reads;
  const times: number[] = [];
  while (times.length < LOADS) {
    const begun = performance.now();
    const { state } = await stream.load();
    times.push(performance.now() - begun);
    if (state.offsets.size === 0) throw new Error('no consumer was found');
  }
  return { time: spreadOf(times).median, reads: (stream.reads - before) / LOADS };
}
