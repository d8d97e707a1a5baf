/**
 * Segments under damage. `verify` must notice every changed byte. A reader gets the chunks that were written or an
 * error that names object and place, and the chunks and runs that are intact stay readable.
 */
import assert from 'node:assert/strict';
import { chunkBody, chunkTrailer, type StoredChunk } from '../../src/segment/chunk-reader.ts';
import { streamChunks } from '../../src/segment/chunk-stream.ts';
import { type ExpectedSegment, type FooterRun, TAIL_BYTES } from '../../src/segment/format.ts';
import { parseTail } from '../../src/segment/footer-parser.ts';
import { SegmentReader } from '../../src/segment/reader.ts';
import { verifySegment } from '../../src/segment/verify.ts';
import { readIdentity } from '../../src/store/identity.ts';
import { filesBelow, goldenPath } from '../golden/fixtures.ts';
import { MemorySource } from '../segment/fixture.ts';
import { goldenFile, goldenFiles, ROOT } from './golden-files.ts';
import { differs, foreignDamage } from './damages.ts';
import { assertPlaced, type Subject } from './subject.ts';

interface GoldenChunk {
  readonly position: number;
  readonly end: number;
  /** Body and trailer. */
  readonly content: string;
}

interface GoldenSegment {
  readonly bytes: Uint8Array;
  readonly expected: ExpectedSegment;
  readonly chunks: readonly GoldenChunk[];
  readonly runs: readonly FooterRun[];
  readonly footerPosition: number;
}

function contentOf(chunk: StoredChunk): string {
  return `${Buffer.from(chunkBody(chunk)).toString('latin1')}|${Buffer.from(chunkTrailer(chunk)).toString('latin1')}`;
}

async function goldenSegment(bytes: Uint8Array, objectKey: string, storeId: Uint8Array): Promise<GoldenSegment> {
  const tail = parseTail(bytes.subarray(bytes.length - TAIL_BYTES), bytes.length, objectKey);
  const expected = { objectKey, storeId, checksum: tail.checksum };
  const { problems } = await verifySegment(new MemorySource(bytes), expected);
  assert.deepEqual(problems, []);
  const reader = await SegmentReader.open(new MemorySource(bytes), expected);
  const chunks: GoldenChunk[] = [];
  for (let index = 0; index < reader.footer.chunks; index += 1) {
    const { position, bytes: length } = reader.footer.chunk(index);
    chunks.push({ position, end: position + length, content: contentOf(await reader.chunk(index)) });
  }
  const runs = Array.from({ length: reader.footer.runs }, (_, index) => reader.footer.run(index));
  return { bytes, expected, chunks, runs, footerPosition: tail.position };
}

/** What reading gives, or the coded error it ends with. */
async function outcome<T>(objectKey: string, read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    assertPlaced(error, objectKey);
    return undefined;
  }
}

async function check(golden: GoldenSegment, damaged: Uint8Array): Promise<void> {
  const { bytes, expected } = golden;
  const changed = bytes.length !== damaged.length || differs(bytes, damaged, 0, bytes.length);
  const { problems } = await verifySegment(new MemorySource(damaged), expected);
  assert.equal(problems.length > 0, changed, 'verify notices every changed byte, and no other');
  for (const problem of problems) assertPlaced(problem, expected.objectKey);
  await checkFooter(golden, damaged);
  for (const run of golden.runs) await checkRun(golden, damaged, run);
}

/** Point reads: through the footer. */
async function checkFooter(golden: GoldenSegment, damaged: Uint8Array): Promise<void> {
  const { bytes, expected, footerPosition } = golden;
  const { objectKey, storeId } = expected;
  const source = new MemorySource(damaged);
  const reader = await outcome(objectKey, () => SegmentReader.open(source, { objectKey, storeId }));
  const footerIntact = bytes.length === damaged.length && !differs(bytes, damaged, footerPosition, bytes.length);
  assert.equal(reader !== undefined, footerIntact, 'the footer is believed when it is whole, and only then');
  if (reader === undefined) return;
  for (const [index, chunk] of golden.chunks.entries()) {
    const read = async (): Promise<string> => contentOf(await reader.chunk(index));
    const content = await outcome(objectKey, read);
    const intact = !differs(bytes, damaged, chunk.position, chunk.end);
    assert.equal(content, intact ? chunk.content : undefined, `chunk ${index}`);
  }
}

/** Scans: by the coordinate that the coordinator keeps, without the footer. */
async function checkRun(golden: GoldenSegment, damaged: Uint8Array, run: FooterRun): Promise<void> {
  const { bytes, expected, chunks } = golden;
  const { byteOffset: position, byteLength: length, streamId, firstOffset, nextOffset, firstChunk } = run;
  const range = { objectKey: expected.objectKey, position, length, streamId, firstOffset, nextOffset };
  const found: string[] = [];
  const whole = await outcome(expected.objectKey, async () => {
    for await (const chunk of streamChunks(new MemorySource(damaged), range)) found.push(contentOf(chunk));
    return true;
  });
  const written = chunks.slice(firstChunk, firstChunk + run.chunks).map(({ content }) => content);
  assert.deepEqual(found, written.slice(0, found.length), 'only what was written is returned');
  const intact = !differs(bytes, damaged, position, position + length);
  if (whole === undefined) assert.ok(!intact, `the run at ${position} is whole and was not read`);
  else assert.equal(found.length, written.length, `the run at ${position} ended early without an error`);
}

export async function segmentSubjects(): Promise<Subject[]> {
  const stores = ['killed', 'clean', 'compacted', 'diskless'];
  const all: { store: string; name: string; golden: GoldenSegment }[] = [];
  for (const store of stores) {
    const storeId = readIdentity(goldenFiles(store), ROOT);
    assert.ok(storeId !== undefined);
    for (const file of filesBelow(goldenPath(store)).filter((name) => name.endsWith('.seg'))) {
      const bytes = goldenFile(store, file);
      const golden = await goldenSegment(bytes, file.replace('objects/', ''), storeId);
      all.push({ store, name: `${store}/${file}`, golden });
    }
  }
  return all.flatMap(({ store, name, golden }) => {
    const { bytes } = golden;
    const others = all.filter((other) => other.golden !== golden);
    const donorsOf = (same: boolean): Uint8Array[] =>
      others.filter((other) => (other.store === store) === same).map((other) => other.golden.bytes);
    const foreign = donorsOf(false);
    return [
      { name, bytes, donors: donorsOf(true), check: (damaged) => check(golden, damaged) },
      {
        name: `${name} with bytes of other stores`,
        bytes,
        donors: foreign,
        space: foreignDamage(bytes, foreign),
        check: (damaged) => check(golden, damaged),
      },
    ] satisfies Subject[];
  });
}
