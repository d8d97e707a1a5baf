/**
 * `npm run bench:http`: the HTTP server under the load of wrk, which is another process. Both share the processors of
 * the machine, so the figures say what one machine does with client and server on it.
 */
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { open } from '../src/index.ts';
import { serve } from '../src/server.ts';
import { makeDirectory, parseCount, workingDirectory } from './options.ts';

const HELP = `usage: npm run bench:http -- [options]

Sends requests to the HTTP server of a store with wrk, which has to be installed, and reports how many a second were
answered, how long the answers took, and how many failed.

  --seconds <n>      for each kind of request (default 10)
  --connections <n>  that wrk keeps busy, one request each at a time (default 64)
  --dir <path>       where to write, on a real disk (default .data below the current directory)
`;

const RECORDS = '/v1/streams/load/records';
const VALUE = 'x'.repeat(100);
const LINES = 100;

interface Load {
  readonly name: string;
  readonly path: string;
  /** Of a POST. */
  readonly body?: string;
  readonly type?: string;
  /** Records in a request or its answer. */
  readonly records: number;
}

const LOADS: readonly Load[] = [
  { name: 'GET /healthz, the floor', path: '/healthz', records: 0 },
  { name: 'append 1 record of 100 B', path: RECORDS, body: VALUE, type: 'application/octet-stream', records: 1 },
  {
    name: `append ${LINES} lines of 100 B`,
    path: `${RECORDS}?format=lines`,
    body: `${VALUE}\n`.repeat(LINES),
    type: 'application/x-ndjson',
    records: LINES,
  },
  { name: `read ${LINES} records`, path: `${RECORDS}?limit=${LINES}`, records: LINES },
  { name: 'read 1 record', path: `${RECORDS}/0`, records: 1 },
];

/** What wrk prints of the latencies, and of what went wrong. */
const RATE = /^Requests\/sec: +([\d.]+)/m;
const LATENCY = (share: number): RegExp => new RegExp(`^ +${share}% +(\\S+)`, 'm');
const FAILURES = /Non-2xx or 3xx responses: (\d+)|Socket errors: (.*)/g;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    connections: { type: 'string', default: '64' },
    dir: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) process.stdout.write(HELP);
else if (!hasWrk()) process.stdout.write('nothing is measured: wrk is not installed (Debian: apt-get install wrk)\n');
else await measure(parseCount('seconds', values.seconds), parseCount('connections', values.connections));

async function measure(seconds: number, connections: number): Promise<void> {
  const dir = mkdtempSync(join(makeDirectory(workingDirectory(values.dir)), 'http-'));
  const store = await open(join(dir, 'store'));
  const server = await serve(store, { port: 0 });
  try {
    await store.stream('load');
    print(['', 'requests/s', 'records/s', 'p50', 'p99', 'failed']);
    for (const load of LOADS) {
      const script = join(dir, 'request.lua');
      writeFileSync(script, scriptOf(load));
      const said = await runWrk([
        '-t1',
        `-c${connections}`,
        `-d${seconds}s`,
        '--latency',
        '-s',
        script,
        server.url + load.path,
      ]);
      print([load.name, ...cellsOf(said, load.records)]);
    }
  } finally {
    await server.close();
    await store.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

function cellsOf(said: string, records: number): string[] {
  const rate = Number(RATE.exec(said)?.[1]);
  if (!Number.isFinite(rate)) throw new Error(`wrk said: ${said}`);
  const failures = [...said.matchAll(FAILURES)].map(([, refused, errors]) => refused ?? errors).join(', ');
  const latencies = [50, 99].map((share) => LATENCY(share).exec(said)?.[1] ?? '');
  return [rate.toFixed(0), records === 0 ? '' : (rate * records).toFixed(0), ...latencies, failures || '0'];
}

/** A request in the language of wrk's scripts. */
function scriptOf({ body, type }: Load): string {
  if (body === undefined) return 'wrk.method = "GET"\n';
  return `wrk.method = "POST"\nwrk.body = ${JSON.stringify(body)}\nwrk.headers["Content-Type"] = "${String(type)}"\n`;
}

async function runWrk(args: readonly string[]): Promise<string> {
  const wrk = spawn('wrk', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  return text(wrk.stdout);
}

function hasWrk(): boolean {
  try {
    execFileSync('sh', ['-c', 'command -v wrk'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

function print(cells: readonly string[]): void {
  const [name = '', ...figures] = cells;
  process.stdout.write(`${name.padEnd(28)}${figures.map((cell) => cell.padStart(14)).join('')}\n`);
}
