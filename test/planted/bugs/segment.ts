/** Bugs of readers: what they believe of bytes that come from a disk or a network. */
import { type PlantedBug, test } from '../bug.ts';

const DAMAGE = 'damage is an error that names the place, and is never returned as data';
const BOMB = 'no claimed length is believed before it was held against what can be there';

export const SEGMENT_BUGS: readonly PlantedBug[] = [
  {
    name: 'chunk checksum skipped',
    file: 'src/segment/chunk-reader.ts',
    source: `  if (checksum !== found) {`,
    replacement: `  if (checksum !== found && checksum === 0n) {`,
    breaks: DAMAGE,
    caughtBy: test('segment/damage', 'is noticed wherever a byte changes, padding included'),
  },
  {
    name: 'footer checksum skipped',
    file: 'src/segment/footer-parser.ts',
    source: `  if (found !== place.checksum) {`,
    replacement: `  if (found !== place.checksum && found === 0n) {`,
    breaks: DAMAGE,
    caughtBy: test('segment/damage', 'is noticed in a part of the footer that nothing else depends on'),
  },
  {
    name: 'chunk not held against the index',
    file: 'src/segment/reader.ts',
    source: `if (chunk.position === position && chunk.bytes.length === bytes && stored === checksum) return;`,
    replacement: `if (chunk.position === position) return;`,
    breaks: 'a valid chunk of another time or length is not taken for the one that the footer names',
    caughtBy: test('segment/damage', 'shows when a chunk is valid but of another time'),
  },
  {
    name: 'chunk not bound to its object',
    file: 'src/segment/format.ts',
    source: `  return xxh64(Buffer.from(objectKey, 'utf8'));`,
    replacement: `  return 0n;`,
    breaks: 'a valid chunk of another object is not taken for one of this',
    caughtBy: test('segment/damage', 'shows in a scan when an intact chunk was written for another object'),
  },
  {
    name: 'chunk index not held against its run',
    file: 'src/segment/footer-parser.ts',
    source: `      indexProblem(run, footer);`,
    replacement: `      undefined;`,
    breaks: 'what comes out of a footer can be looked up without further checks',
    caughtBy: test('segment/hostile', 'about its last timestamp'),
  },
  {
    name: 'expansion of LZ4 not bounded',
    file: 'src/codec/compression.ts',
    source: `if (rawBytes > bytes.length * LZ4_EXPANSION_MAX + LZ4_EXPANSION_EXTRA) {`,
    replacement: `if (rawBytes > (bytes.length + 1) * CHUNK_RAW_BYTES_MAX * LZ4_EXPANSION_MAX + LZ4_EXPANSION_EXTRA) {`,
    breaks: BOMB,
    caughtBy: test('codec/compression', 'refuses a claim that LZ4 cannot reach from so few bytes'),
  },
  {
    name: 'raw length of a chunk not bounded',
    file: 'src/codec/compression.ts',
    source: `if (!Number.isInteger(rawBytes) || rawBytes < 0 || rawBytes > CHUNK_RAW_BYTES_MAX) {`,
    replacement: `if (!Number.isInteger(rawBytes) || rawBytes < 0) {`,
    breaks: BOMB,
    caughtBy: test('codec/compression', 'refuses a claim of 4 GiB before allocating it'),
  },
  {
    name: 'stored length of a chunk not bounded',
    file: 'src/segment/chunk-format.ts',
    source: `return bytes > room ?`,
    replacement: `return bytes < 0 ?`,
    breaks: BOMB,
    caughtBy: test('segment/hostile', 'about stored bytes beyond the file'),
  },
  {
    name: 'count of a list not bounded',
    file: 'src/coordinator/manifest/codec.ts',
    source: `if (count > reader.remaining) throw`,
    replacement: `if (count < 0) throw`,
    breaks: BOMB,
    caughtBy: test('coordinator/codec', 'a claimed length beyond the block is refused before anything is made of it'),
  },
  {
    name: 'order of frames in a batch not checked',
    file: 'src/record/record-batch.ts',
    source: `if (first < end) throw`,
    replacement: `if (Number.isNaN(first)) throw`,
    breaks: 'a reader goes on behind each record once',
    caughtBy: test(
      'record/record-batch',
      'refuses frames that go back, or share offsets: a reader goes on behind the last one',
    ),
  },
  {
    name: 'order of records in a frame not checked',
    file: 'src/record/record-batch.ts',
    source: `if (delta <= previous || delta >= header.offsetSpan) throw`,
    replacement: `if (delta >= header.offsetSpan) throw`,
    breaks: 'a reader goes on behind each record once',
    caughtBy: test(
      'record/hostile-frames',
      'is read inside its bounds or refused, whichever byte of it changes (sparse)',
    ),
  },
];
