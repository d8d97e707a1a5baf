/**
 * `npm start`: the main job on real input. A child process ingests durably and is killed midway; this process recovers
 * the store, proves by hash that every acknowledged record is there, ingests the rest, and reads everything back.
 */
import { mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { interruptible } from '../src/cli/interruption.ts';
import { bytes } from '../src/cli/text.ts';
import { HELP, parseOptions, type StartOptions } from './start/options.ts';
import { type Figures, reportJson, reportText } from './start/report.ts';
import { run } from './start/run.ts';

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
/** The log's slots, and segments that are written before others are deleted. */
const SPARE_BYTES = 500e6;

function optionsOrExit(): StartOptions {
  try {
    return parseOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`npm start: ${messageOf(error)}\n\n${HELP}`);
    process.exit(EXIT_USAGE);
  }
}

/** A new directory of our own, so that deleting it can never delete anything else. */
function makeDirectory(parent: string, size: number): string {
  mkdirSync(parent, { recursive: true });
  const { bavail, bsize } = statfsSync(parent);
  if (bavail * bsize < size + SPARE_BYTES) {
    const needed = `${bytes(size + SPARE_BYTES)} may be needed`;
    throw new Error(`${parent} has ${bytes(bavail * bsize)} left, ${needed}: choose another --dir, or fewer --bytes`);
  }
  return mkdtempSync(join(parent, 'millrace-start-'));
}

async function start(options: StartOptions): Promise<Figures> {
  const dir = makeDirectory(resolve(options.dir), options.bytes);
  let { keep } = options;
  let stopped = false;
  try {
    return await interruptible((signal) => {
      signal.addEventListener('abort', () => {
        stopped = true;
      });
      return run({ bytes: options.bytes, dir, keep, signal });
    });
  } catch (error) {
    // What a failed run left is evidence; what the user stopped is not.
    keep ||= !stopped;
    if (keep) process.stderr.write(`npm start: the data is kept in ${dir}\n`);
    throw stopped ? new Error('stopped before its end') : error;
  } finally {
    if (!keep) rmSync(dir, { recursive: true, force: true });
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const options = optionsOrExit();
if (options.help) {
  process.stdout.write(HELP);
} else {
  try {
    const figures = await start(options);
    process.stdout.write(options.json ? reportJson(figures) : reportText(figures));
  } catch (error) {
    process.stderr.write(`npm start: ${messageOf(error)}\n`);
    process.exitCode = EXIT_FAILED;
  }
}
