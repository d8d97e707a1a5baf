/** `npm run bench:report`: one page from the figures of `npm run bench` and `npm run bench:peers`. */
import { existsSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { COMMITTED_PEER_RESULTS, COMMITTED_RESULTS, makeDirectory } from './options.ts';
import { readPeerResults } from './peers/results.ts';
import { reportPage } from './report/page.ts';
import { readResults } from './results.ts';

const HELP = `usage: npm run bench:report -- [options]

Makes one HTML page, which needs nothing else, from results files; either may be missing.

  --bench <file>  figures of npm run bench (default bench/results.json)
  --peers <file>  figures of npm run bench:peers (default bench/peers/results.json)
  --out <file>    the page (default .data/benchmarks.html)
`;
const EXIT_USAGE = 2;

try {
  const { values } = parseArgs({
    options: {
      bench: { type: 'string', default: COMMITTED_RESULTS },
      peers: { type: 'string', default: COMMITTED_PEER_RESULTS },
      out: { type: 'string', default: '.data/benchmarks.html' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) process.stdout.write(HELP);
  else writeReport(values.bench, values.peers, resolve(values.out));
} catch (error) {
  process.stderr.write(`npm run bench:report: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = EXIT_USAGE;
}

function writeReport(benchPath: string, peersPath: string, outPath: string): void {
  const bench = existsSync(benchPath) ? readResults(benchPath) : undefined;
  const peers = existsSync(peersPath) ? readPeerResults(peersPath) : undefined;
  if (bench === undefined && peers === undefined) {
    throw new Error(`there is neither ${benchPath} nor ${peersPath}: make one with --json, or name them`);
  }
  makeDirectory(dirname(outPath));
  writeFileSync(outPath, reportPage({ bench, peers }));
  process.stdout.write(`${outPath}\n`);
}
