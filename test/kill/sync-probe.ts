/**
 * What the system's own answers are worth around a power cut, without any of the engine: a small program writes and
 * syncs, the power is cut, and what it was told to be durable is looked for on the disk.
 */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Random } from '../../src/base/random.ts';
import { runSync } from '../support/child-processes.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { CuttableDisk } from './cuttable-disk.ts';
import type { FileSystemName } from './image-mounts.ts';

const SOURCE: string = join(import.meta.dirname, '..', '..', '..', 'test', 'kill', 'sync-probe.c');
const RECORD_BYTES = 4096;
const WORK_MAX = 20;

export const WAYS = ['append', 'overwrite'] as const;

export interface ProbeFigures {
  cuts: number;
  /** Records that the program was told to be durable. */
  answers: number;
  /** Of those, told after the cut had begun. */
  late: number;
  /** Told before the cut, and gone. */
  lostEarly: number;
  /** Told after the cut had begun, and gone. */
  lostLate: number;
}

export async function probeSync(
  fileSystem: FileSystemName,
  way: (typeof WAYS)[number],
  cuts: number,
  random: Random,
): Promise<ProbeFigures> {
  const directory = temporaryDirectory();
  const program = join(directory.path, 'sync-probe');
  runSync('cc', '-O1', '-o', program, SOURCE);
  const disk = new CuttableDisk(directory.path, fileSystem);
  const figures = { cuts: 0, answers: 0, late: 0, lostEarly: 0, lostLate: 0 };
  for (; figures.cuts < cuts; figures.cuts += 1) {
    const path = join(disk.path, `file-${figures.cuts}`);
    const { cutAt, answers } = await cutDuring(disk, [program, way, path], random.below(WORK_MAX));
    disk.unmount();
    disk.mount();
    const bytes = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
    for (const { index, at } of answers) {
      figures.answers += 1;
      if (at >= cutAt) figures.late += 1;
      if (isThere(bytes, index)) continue;
      if (at >= cutAt) figures.lostLate += 1;
      else figures.lostEarly += 1;
    }
    rmSync(path, { force: true });
  }
  disk.unmount();
  directory.remove();
  return figures;
}

interface Answer {
  readonly index: number;
  readonly at: number;
}

function cutDuring(
  disk: CuttableDisk,
  [program = '', ...args]: readonly string[],
  after: number,
): Promise<{ cutAt: number; answers: Answer[] }> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  let cutAt: number | undefined;
  return new Promise((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      if (text === '') {
        setTimeout(() => {
          cutAt = disk.cut();
        }, after);
      }
      text += chunk;
    });
    child.once('error', reject);
    child.once('close', () => {
      const lines = text.split('\n').slice(1, -1);
      const answers = lines.map((line) => {
        const [index, at] = line.split(' ');
        return { index: Number(index), at: Number(at) };
      });
      if (cutAt === undefined) reject(new Error('the program ended before the cut'));
      else resolve({ cutAt, answers });
    });
  });
}

function isThere(bytes: Buffer, index: number): boolean {
  const record = bytes.subarray(index * RECORD_BYTES, (index + 1) * RECORD_BYTES);
  if (record.length < RECORD_BYTES) return false;
  for (let at = 0; at < RECORD_BYTES; at += 8) if (record.readBigUInt64LE(at) !== BigInt(index + 1)) return false;
  return true;
}
