/**
 * `npm run bench:pipeline`: a file through `pipeline` into a stream, and out of it again. What counts is memory: a
 * large file must need no more of it than a small one.
 */
import { createReadStream, createWriteStream, mkdtempSync, rmSync, statSync } from 'node:fs';
import { open as openFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { SeededRandom } from '../src/base/random.ts';
import { open, type Stream, type StreamRecord } from '../src/index.ts';
import { MIB } from '../src/limits/limits.ts';
import { makeDirectory, parseSize, workingDirectory } from './options.ts';

const HELP = `usage: npm run bench:pipeline -- [options]

Sends files through pipeline() into a stream and out of it again, and reports the memory that it takes, by kind.

  --size <size>   of the largest file (default 1GB); a quarter of it goes before
  --dir <path>    where to write, on a real disk (default .data below the current directory)
`;

const SIZE_DEFAULT = 1e9;
const SMALLER = 4;
/** Fills the ring once, so that its memory is not counted as that of the first file. */
const WARM_UP_BYTES: number = 192 * MIB;
const SAMPLE_INTERVAL = 20;
const KINDS = ['rss', 'heapUsed', 'external', 'arrayBuffers'] as const;
type Memory = Record<(typeof KINDS)[number], number>;

const { values } = parseArgs({
  options: { size: { type: 'string' }, dir: { type: 'string' }, help: { type: 'boolean', default: false } },
});
if (values.help) process.stdout.write(HELP);
else await measure(parseSize('size', values.size, SIZE_DEFAULT), makeDirectory(workingDirectory(values.dir)));

async function measure(size: number, parent: string): Promise<void> {
  const dir = mkdtempSync(join(parent, 'pipeline-'));
  try {
    const store = await open(join(dir, 'store'));
    await through(dir, await store.stream('warm-up'), WARM_UP_BYTES);
    print(['file', 'way', 'seconds', 'before', ...KINDS.map((kind) => `most ${kind}`)]);
    for (const bytes of [Math.round(size / SMALLER), size]) {
      for (const row of await through(dir, await store.stream(`file-${bytes}`), bytes)) print(row);
    }
    await store.close();
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** In and out again; a row for each. Throws when what comes out is not as long as what went in. */
async function through(dir: string, stream: Stream, bytes: number): Promise<string[][]> {
  const [source, copy] = [join(dir, 'source'), join(dir, 'copy')];
  await writeSource(source, bytes);
  const into = await watched(() => pipeline(createReadStream(source), stream.writable()));
  rmSync(source);
  const outOf = await watched(() => pipeline(stream.readable(), valuesOf, createWriteStream(copy)));
  if (statSync(copy).size !== bytes) throw new Error(`${bytes} bytes went in, and ${statSync(copy).size} came out`);
  rmSync(copy);
  return [
    [megabytes(bytes), 'in', ...into],
    [megabytes(bytes), 'out', ...outOf],
  ];
}

async function* valuesOf(records: AsyncIterable<StreamRecord>): AsyncGenerator<Buffer> {
  for await (const { value } of records) yield value ?? Buffer.alloc(0);
}

/** Half of each page is random, half is zeros: compression has something to do. */
async function writeSource(path: string, bytes: number): Promise<void> {
  const piece = Buffer.alloc(MIB);
  const random = new SeededRandom(1);
  for (let at = 0; at < MIB; at += 4_096) piece.set(random.bytes(2_048), at);
  const file = await openFile(path, 'w');
  for (let at = 0; at < bytes; at += MIB) await file.write(piece, 0, Math.min(MIB, bytes - at));
  await file.close();
}

/** Seconds, memory before, and the most of each kind while `work` runs. */
async function watched(work: () => Promise<void>): Promise<string[]> {
  const before = process.memoryUsage();
  const most: Memory = { ...before };
  const timer = setInterval(() => {
    const now = process.memoryUsage();
    for (const kind of KINDS) most[kind] = Math.max(most[kind], now[kind]);
  }, SAMPLE_INTERVAL);
  const begun = performance.now();
  await work();
  clearInterval(timer);
  const seconds = ((performance.now() - begun) / 1_000).toFixed(1);
  return [seconds, megabytes(before.rss), ...KINDS.map((kind) => megabytes(most[kind]))];
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`;
}

function print(cells: readonly string[]): void {
  process.stdout.write(`${cells.map((cell) => cell.padStart(18)).join('')}\n`);
}
