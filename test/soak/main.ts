/**
 * `npm run soak -- [options]`: hours of mixed load on one store, with kills, full disks and compaction; at the end,
 * whether anything was lost, and whether memory, descriptors, files and latency stayed where they were.
 *
 *     --minutes <number>  how long; default 10
 *     --seed <number>     repeats the choices, though not the machine's timing; printed
 *     --json <file>       write what was seen there
 *     --html <file>       write the page with the plots there; default .data/soak.html
 *     --dir <path>        where the store is made; default the system's directory for temporary files
 *     --keep              leave the store where it is; also done when something is lost
 *
 * Exit code 1 when something was lost or has grown.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { isPassed, soakPage, soakText } from './page.ts';
import type { Life } from './result.ts';
import { makeRoom } from './room.ts';
import { runSoak } from './soak.ts';
import { judge } from './verdict.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string' },
    json: { type: 'string' },
    html: { type: 'string', default: '.data/soak.html' },
    dir: { type: 'string', default: tmpdir() },
    keep: { type: 'boolean', default: false },
  },
});
const minutes = Number(values.minutes);
if (!(minutes > 0)) throw new Error('--minutes is a number above 0');
const seed = Number(values.seed ?? Date.now() % 2 ** 32);
const scratch: string = mkdtempSync(join(resolve(values.dir), 'millrace-soak-'));
const room = makeRoom(scratch);
console.log(`seed ${seed}; ${room.how === undefined ? 'no disk becomes full' : `disk full: ${room.how}`}`);
if (room.reason !== undefined) console.log(`for here ${room.reason}`);

const interrupted = new AbortController();
process.once('SIGINT', () => {
  interrupted.abort();
});

function told({ ending, endedAt, records, errors, openedFull }: Life): string {
  const met = [...errors, ...(openedFull === undefined ? [] : [`opening it: ${openedFull}`])];
  return `${endedAt.toFixed(0).padStart(6)} s  ${ending.padEnd(5)}  ${records} records  ${met.join(', ')}`.trimEnd();
}

const result = await runSoak({
  seed,
  minutes,
  room,
  scratch,
  interrupted: interrupted.signal,
  progress: (life) => {
    console.log(told(life));
  },
});
const findings = judge(result);
console.log(soakText(result, findings));
const html = resolve(values.html);
mkdirSync(dirname(html), { recursive: true });
writeFileSync(html, soakPage(result, findings));
console.log(html);
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify({ ...result, findings })}\n`);

const isKept = values.keep || result.failure !== undefined;
const kept = join(scratch, 'kept');
const store = join(room.path, 'store');
if (isKept && existsSync(store)) cpSync(store, kept, { recursive: true });
room.close();
if (isKept) console.log(`the store is in ${kept}`);
else rmSync(scratch, { recursive: true, force: true });
process.exitCode = isPassed(result, findings) ? 0 : 1;
