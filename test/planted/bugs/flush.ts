/** Bugs between the ring and the segments, and of what readers see on the way. */
import { type PlantedBug, test } from '../bug.ts';

const SCHEDULER = 'src/flush/scheduler.ts';

export const FLUSH_BUGS: readonly PlantedBug[] = [
  {
    name: 'slot released before its commit',
    file: SCHEDULER,
    source: `const answer = await this.#persist(() => coordinator.commitObject(commit));`,
    replacement: `const answer = undefined;
    this.#persist(() => coordinator.commitObject(commit)).catch((error: unknown) => {
      this.#fail(error);
    });`,
    breaks: 'a crash at any step finds a record in the log or in a committed segment',
    caughtBy: test(
      'flush/scheduler',
      'slots are given free in the order of the log, each when its commit was answered',
    ),
  },
  {
    name: 'fillings committed out of order',
    file: SCHEDULER,
    source: `this.#tail = this.#tail.then(async () => {`,
    replacement: `this.#tail = written.then(
      () => undefined,
      () => undefined,
    ).then(async () => {`,
    breaks: 'segments are committed in the order of the log',
    caughtBy: test(
      'flush/scheduler',
      'slots are given free in the order of the log, each when its commit was answered',
    ),
  },
  {
    name: 'tracking trailer dropped',
    file: 'src/flush/run-writer.ts',
    source: `await this.#chunker.write(delta, epoch);`,
    replacement: `await this.#chunker.write(NO_TRACKING, epoch);`,
    breaks: 'stored offsets and publishing ids survive the flush that frees their slot',
    caughtBy: test('flush/run-writer', 'tracking rides on the last records chunk of a run'),
  },
  {
    name: 'publishing ids not recovered from segments',
    file: 'src/stream/tracking-loader.ts',
    source: `      state.apply(entries.entries);`,
    replacement: `      state.apply(entries.entries.filter((entry) => !('publishingId' in entry)));`,
    breaks: 'a publisher that sends again after a crash leaves each record once',
    caughtBy: test(
      'stream/tracking-loader',
      'publishing ids come back from the snapshot, the deltas behind it and the WAL, the last one of each',
    ),
  },
  {
    name: 'publishing ids not recovered from the log',
    file: 'src/stream/tracking-loader.ts',
    source: `  state.apply(unflushed);`,
    replacement: `  void unflushed;`,
    breaks: 'a publisher that sends again after a crash leaves each record once',
    caughtBy: test(
      'stream/tracking-loader',
      'what the WAL says comes last, and consumers below the log start are evicted',
    ),
  },
  {
    name: 'duplicate not noticed by its publisher',
    file: 'src/stream/publisher.ts',
    source: `if (highest !== undefined && record.publishingId <= highest) continue;`,
    replacement: `if (highest !== undefined && record.publishingId < highest) continue;`,
    breaks: 'an id at or below the last one is a duplicate, and appends nothing',
    caughtBy: test('store/publishers', 'an id at or below the last one is a duplicate, and appends nothing'),
  },
  {
    name: 'readers see records that are not durable',
    file: 'src/memtable/memtable.ts',
    source: `    const durable = index.countBefore(durableEnd);
    const frames: Uint8Array[] = [];`,
    replacement: `    const durable = index.countBefore(Infinity);
    void durableEnd;
    const frames: Uint8Array[] = [];`,
    breaks: 'readers never see a record that a crash could still take',
    caughtBy: test(
      'memtable/memtable',
      'answers as arrays of records would, while blocks become durable and fillings are flushed',
    ),
  },
  {
    name: 'trim beyond the end of the stream',
    file: 'src/coordinator/commands/stream-commands.ts',
    source: `if (beforeOffset > stream.nextOffset) {`,
    replacement: `if (beforeOffset < 0) {`,
    breaks: 'what is not appended and durable yet is never trimmed',
    caughtBy: test('coordinator/embedded-coordinator', 'a trim beyond the high watermark is refused'),
  },
  {
    name: 'retention judged by a clock that went back',
    file: 'src/store/trimming.ts',
    source: `return isTrusted && now - clock.now() <= CLOCK_TOLERANCE;`,
    replacement: 'return isTrusted || now - clock.now() > CLOCK_TOLERANCE;',
    breaks: 'no record goes before its time by the coordinator, whatever the clock of the machine does',
    caughtBy: test('store/trimming', 'a clock that jumps a day ahead and back expires nothing'),
  },
  {
    name: 'group of records spread over two blocks',
    file: 'src/stream/lane.ts',
    source: `return !this.#fitsBlock(bytes) || this.producer.reserve(alignUp(bytes, FRAME_ALIGNMENT)) >= 0;`,
    replacement: `return !this.#fitsBlock(bytes) || alignUp(bytes, FRAME_ALIGNMENT) > 0;`,
    breaks: 'a crash keeps all of a group that fits a block, or nothing of it',
    caughtBy: test('stream/lane', 'begins in the next slot when the rest of this one has no room for all of it'),
  },
  {
    name: 'stream in two lanes at once',
    file: 'src/store/local-writer.ts',
    source: `    this.producers.refuseHeld(streamId);`,
    replacement: '',
    breaks: 'the records of a stream are in one order, whichever thread appends them',
    caughtBy: test(
      'store/producers/producers',
      'a stream is in one lane at a time, and goes on in the next where it ended',
    ),
  },
];
