/** How long it takes to open a store: after the process that wrote it was killed, and after it closed the store. */
import { openSync, readdirSync, readSync, closeSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { MIB } from '../../src/limits/limits.ts';
import { runChild } from '../processes.ts';
import type { Session, Values, Workload } from '../workload.ts';
import type { OpeningAnswer, OpeningJob } from './opening-child.ts';

const ENTRY = 'workloads/opening-child.js';
const TIMEOUT = 60_000;
/** Leaves room for headers in the ring of 128 MiB. */
const RING_FILL_BYTES = 116 * MIB;
const RING_FILL_BYTES_QUICK = 16 * MIB;
const CLOSED_BYTES = 256 * MIB;
const CLOSED_BYTES_QUICK = 8 * MIB;
const READ_BYTES = MIB;

export const openingAfterKill: Workload = {
  name: 'open-after-kill',
  what: 'open in a new process, after another was killed with 116 MiB of 1 KiB records in the log only',
  floor: 'reads the log files through the page cache',
  figures: [
    { name: 'time', unit: 'ms', better: 'lower', target: { subject: 'value', bound: 'at most', limit: 1_000 } },
  ],
  roundsMax: 5,
  warmUps: 0,
  prepare: async (setting) => {
    const dir = join(setting.dir, 'killed');
    const bytes = setting.quick ? RING_FILL_BYTES_QUICK : RING_FILL_BYTES;
    return session(
      () => readLogs(dir),
      async () => {
        rmSync(dir, { recursive: true, force: true });
        await child({ action: 'fill and die', dir, bytes });
        return timeOf(await child({ action: 'open', dir, bytes }));
      },
    );
  },
};

export const openingAfterClose: Workload = {
  name: 'open-after-close',
  what: 'open in a new process, after another closed the store with 256 MiB of 1 KiB records in segments',
  floor: 'none: there is nothing that has to be read',
  figures: [{ name: 'time', unit: 'ms', better: 'lower', target: { subject: 'value', bound: 'at most', limit: 50 } }],
  warmUps: 0,
  prepare: async (setting) => {
    const dir = join(setting.dir, 'closed');
    const bytes = setting.quick ? CLOSED_BYTES_QUICK : CLOSED_BYTES;
    await child({ action: 'fill and close', dir, bytes });
    return session(
      () => ({}),
      async () => timeOf(await child({ action: 'open', dir, bytes })),
    );
  },
};

/** The log is there only once millrace has written it: it always goes first. */
function session(floor: () => Values, millrace: () => Promise<Values>): Session {
  return {
    round: async () => ({ millrace: await millrace(), floor: floor() }),
    close: async () => undefined,
  };
}

function child(job: OpeningJob): Promise<unknown> {
  return runChild(ENTRY, job, { dies: job.action === 'fill and die', timeout: TIMEOUT });
}

function timeOf(answer: unknown): Values {
  return { time: (answer as OpeningAnswer).milliseconds };
}

function readLogs(dir: string): Values {
  const buffer = Buffer.allocUnsafe(READ_BYTES);
  const begun = performance.now();
  for (const entry of readdirSync(dir, { withFileTypes: true, recursive: true })) {
    if (!entry.name.endsWith('.wal')) continue;
    const file = openSync(join(entry.parentPath, entry.name), 'r');
    for (let position = 0, read = 1; read > 0; position += read) {
      read = readSync(file, buffer, 0, READ_BYTES, position);
    }
    closeSync(file);
  }
  return { time: performance.now() - begun };
}
