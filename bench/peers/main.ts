/** `npm run bench:peers`: every peer does the same work, in rounds, each run in a process of its own. */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { machineFacts, requireDisk } from '../../src/cli/machine.ts';
import { makeDirectory } from '../options.ts';
import { writeResults } from '../results.ts';
import { PEERS } from './adapters.ts';
import { parsePeerOptions, PEER_HELP, type PeerBenchOptions } from './options.ts';
import { peerResultsText } from './output.ts';
import { ensurePackages, installedVersion } from './packages.ts';
import type { Peer } from './peer.ts';
import { type AbsentPeer, PEER_RESULTS_VERSION, type PeerDescription, type PeerResults } from './results.ts';
import { runRounds } from './rounds.ts';
import { absenceOf, programVersion } from './servers/program.ts';
import { PEER_WORKLOADS } from './workloads.ts';

const EXIT_USAGE = 2;

try {
  const options = parsePeerOptions(process.argv.slice(2));
  if (options.help) process.stdout.write(PEER_HELP);
  else await comparePeers(options, interruption());
} catch (error) {
  process.stderr.write(`npm run bench:peers: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = EXIT_USAGE;
}

async function comparePeers(options: PeerBenchOptions, signal: AbortSignal): Promise<void> {
  const asked = chosen(PEERS, options.peers);
  const workloads = chosen(PEER_WORKLOADS, options.only);
  ensurePackages();
  const absent = asked.flatMap(({ name, program }): AbsentPeer[] => {
    const reason = absenceOf(program);
    return reason === undefined ? [] : [{ name, reason }];
  });
  for (const { name, reason } of absent) process.stderr.write(`npm run bench:peers: without ${name}: ${reason}\n`);
  const peers = asked.filter(({ name }) => absent.every((peer) => peer.name !== name));
  const started = new Date();
  const dir = mkdtempSync(join(makeDirectory(options.dir), 'millrace-peers-'));
  try {
    requireDisk(dir);
    const descriptions = peers.map(describe);
    const rows = await runRounds(options, peers, workloads, dir, signal);
    const results: PeerResults = {
      version: PEER_RESULTS_VERSION,
      kind: 'peers',
      startedAt: started.toISOString(),
      command: ['npm run bench:peers --', ...process.argv.slice(2)].join(' '),
      quick: options.quick,
      machine: machineFacts(dir),
      seconds: options.seconds,
      minutes: (Date.now() - started.getTime()) / 60_000,
      peers: descriptions,
      absent,
      workloads: workloads.map(({ name, what, figures }) => ({ name, what, figures, rows: rows.get(name)! })),
    };
    process.stdout.write(peerResultsText(results));
    if (options.json !== undefined) writeResults(options.json, results);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function describe({ name, packages, program, guarantee, durable }: Peer): PeerDescription {
  const versions = [
    ...packages.map((used) => `${used} ${installedVersion(used) ?? 'of an unknown version'}`),
    ...(program === undefined ? [] : [programVersion(program)]),
  ];
  return { name, versions: versions.join(', '), guarantee, durable };
}

/** Servers and files of a run that is broken off do not stay behind. */
function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => {
      controller.abort(new Error(`broken off by ${name}`));
    });
  }
  return controller.signal;
}

function chosen<Item extends { readonly name: string }>(items: readonly Item[], parts: readonly string[]): Item[] {
  const found = items.filter(({ name }) => parts.length === 0 || parts.some((part) => name.includes(part)));
  if (found.length > 0) return found;
  throw new Error(`nothing has ${parts.join(' or ')} in its name: ${items.map(({ name }) => name).join(', ')}`);
}
