/** Bugs of the write-ahead log: what makes an acknowledgement true, and what recovery believes. */
import { type PlantedBug, test } from '../bug.ts';

const WRITER = 'src/wal/writer.ts';
const ACKNOWLEDGED = 'a record whose append was acknowledged is there after a crash';

export const WAL_BUGS: readonly PlantedBug[] = [
  {
    name: 'ack before sync',
    file: WRITER,
    source: `    this.#write(base, writeStart, position - writeStart);
    this.#position = position;
    this.#nextBlock = block;
    this.#words.publishDurable(block);`,
    replacement: `    this.#words.publishDurable(block);
    this.#write(base, writeStart, position - writeStart);
    this.#position = position;
    this.#nextBlock = block;`,
    breaks: ACKNOWLEDGED,
    caughtBy: test('wal/writer', 'stops the lane for good: EIO on write'),
  },
  {
    name: 'no sync behind a buffered write',
    file: WRITER,
    source: `if (mode === 'buffered') file.syncSync();`,
    replacement: '',
    breaks: ACKNOWLEDGED,
    caughtBy: test('wal/writer', 'is buffered with a sync after each write where direct I/O is refused at open'),
  },
  {
    name: 'sync tried again after it failed',
    file: WRITER,
    source: `if (mode === 'buffered') file.syncSync();`,
    replacement: `if (mode === 'buffered') {
        try {
          file.syncSync();
        } catch {
          file.syncSync();
        }
      }`,
    breaks: 'after a failed sync nothing is synced there again, for the next one may succeed without the data',
    caughtBy: test('wal/writer', 'stops the lane for good: EIO on sync'),
  },
  {
    name: 'write after a failed write',
    file: WRITER,
    source: `if (this.#failure !== undefined) throw this.#failure.error;`,
    replacement: '',
    breaks: 'after an error no file of the log is written again',
    caughtBy: test('wal/writer', 'stops the lane for good: EIO on write'),
  },
  {
    name: 'short write taken for a whole one',
    file: WRITER,
    source: `if (written !== length) throw shortWrite(file.path, written, length, position);`,
    replacement: 'void written;',
    breaks: ACKNOWLEDGED,
    caughtBy: test('wal/writer', 'stops the lane for good: a short write without an error'),
  },
  {
    name: 'gap in a stream not noticed by the log',
    file: 'src/wal/account.ts',
    source: `if (firstOffset !== expected && !rewinds) throw gap(streamId, expected, firstOffset);`,
    replacement: 'void rewinds;',
    breaks: 'nothing is acknowledged behind a record that was lost on its way to the disk',
    caughtBy: test('wal/writer', 'stops at a gap before anything of the batch is written or published'),
  },
  {
    name: 'off by one at the end of a slot',
    file: WRITER,
    source: `while (block < closed && position < end) {`,
    replacement: `while (block < closed && position <= end) {`,
    breaks: 'a write stays inside its slot',
    caughtBy: test('wal/writer', 'never lets a write cross from one slot into the next'),
  },
  {
    name: 'no directory sync behind new slot files',
    file: 'src/wal/slot-files.ts',
    source: `if (created) fileSystem.syncDirectorySync(directory);`,
    replacement: 'void created;',
    breaks: ACKNOWLEDGED,
    caughtBy: test('wal/recovery-files', 'are there after a power loss as soon as they are made'),
  },
  {
    name: 'block checksum skipped in recovery',
    file: 'src/wal/scan.ts',
    source: `seed) !== header.checksum) return undefined;`,
    replacement: `seed) === 0n) return undefined;`,
    breaks: 'damage is never returned as data, and a torn write never taken for a whole one',
    caughtBy: test('wal/recovery', 'does not pass when any of its bytes has changed'),
  },
  {
    name: 'damage in the middle taken for a torn end',
    file: 'src/wal/recovery-table.ts',
    source: `{ label: 'B3', when: (b) => b.durableBehind, then: 'damaged' }`,
    replacement: `{ label: 'B3', when: (b) => b.durableBehind, then: 'log-ends' }`,
    breaks: 'damage of what was acknowledged is reported, not cut off',
    caughtBy: test('wal/recovery', 'B3: is damaged when a later write of the filling found it durable'),
  },
  {
    name: 'stale blocks of a recycled slot accepted',
    file: 'src/wal/log-walk.ts',
    source: `const filling = blocks.filter((block) => block.slotSequence === youngest);`,
    replacement: `const filling = [...blocks];`,
    breaks: 'what an earlier filling left in a file never comes back',
    caughtBy: test('wal/recovery', 'does not revive blocks of older fillings in a recycled slot'),
  },
  {
    name: 'blocks behind a torn write revived',
    file: 'src/wal/log-walk.ts',
    source: `const blocks = found.filter((block) => block.blockSequence < replacedFrom);`,
    replacement: `const blocks = found;`,
    breaks: 'what a reader saw after one recovery is there after the next',
    caughtBy: test('wal/recovery', 'leaves a prefix of whole blocks, whichever of its pages reached the disk'),
  },
  {
    name: 'recovered blocks served before a sync',
    file: 'src/wal/recovery.ts',
    source: `    await file.sync();`,
    replacement: '',
    breaks: 'what a reader saw after a recovery is there after the next power loss',
    caughtBy: test('wal/recovery-files', 'is made durable before anything read from it is served'),
  },
  {
    name: 'clean mark believed without its checksum',
    file: 'src/wal/clean-mark.ts',
    source: `    mark.sound &&
`,
    replacement: '',
    breaks: 'a damaged file is not believed',
    caughtBy: test('wal/clean-mark', 'a mark with any bit flipped, or cut at any length, is not believed'),
  },
  {
    name: 'clean mark removed without a directory sync',
    file: 'src/wal/clean-mark.ts',
    source: `  fileSystem.removeSync(path);
  // Until the removal is durable, a power loss could bring the mark back in front of a log with records.
  fileSystem.syncDirectorySync(directory);`,
    replacement: '',
    breaks: ACKNOWLEDGED,
    caughtBy: test(
      'wal/clean-mark',
      'a mark that was taken stays away after a power loss, and one that was written stays',
    ),
  },
];
