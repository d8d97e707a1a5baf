/**
 * The floor of a merge in a directory: the same bytes, read and written past the page cache, and synced. No chunk is
 * looked at. Three reads wait behind each write, as many as the thread pool takes beside it.
 */
import { closeSync, constants, fdatasyncSync, openSync, read as readFile, rmSync, statSync, write } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { alignUp, PAGE_BYTES } from '../../src/base/bytes.ts';
import { allocatePages } from '../../src/base/page-memory.ts';
import { MIB } from '../../src/limits/limits.ts';

const PIECE_BYTES = MIB;
const PIECES_AT_ONCE = 4;
/** Not defined where the system has no such thing; files go through the page cache there. */
const DIRECT = (constants as { O_DIRECT?: number }).O_DIRECT ?? 0;

const readPiece = promisify(readFile);
const writePiece = promisify(write);

interface Piece {
  readonly file: number;
  readonly position: number;
  readonly length: number;
}

/** Copies all files, one behind the other, into one below `dir`, which is removed again. Returns the seconds. */
export async function copySeconds(paths: readonly string[], dir: string): Promise<number> {
  const target = join(dir, 'copy');
  const files = paths.map((path) => openSync(path, constants.O_RDONLY | DIRECT));
  const output = openSync(target, constants.O_CREAT | constants.O_WRONLY | DIRECT);
  const pieces = files.flatMap((file, index) => piecesOf(file, statSync(paths[index] ?? '').size)).reverse();
  let written = 0;
  let turn: Promise<unknown> = Promise.resolve();
  const begun = performance.now();
  const work = async (): Promise<void> => {
    const memory = allocatePages(PIECE_BYTES);
    for (let piece = pieces.pop(); piece !== undefined; piece = pieces.pop()) {
      const { file, position, length } = piece;
      const reading = readPiece(file, memory, 0, length, position);
      const before = turn;
      turn = reading.then(async ({ bytesRead }) => {
        await before;
        written += (await writePiece(output, memory, 0, alignUp(bytesRead, PAGE_BYTES), written)).bytesWritten;
      });
      await turn;
    }
  };
  await Promise.all(Array.from({ length: PIECES_AT_ONCE }, work));
  fdatasyncSync(output);
  const seconds = (performance.now() - begun) / 1_000;
  for (const file of [...files, output]) closeSync(file);
  rmSync(target);
  return seconds;
}

function piecesOf(file: number, bytes: number): Piece[] {
  return Array.from({ length: Math.ceil(bytes / PIECE_BYTES) }, (_, index) => {
    const position = index * PIECE_BYTES;
    return { file, position, length: Math.min(PIECE_BYTES, bytes - position) };
  });
}
