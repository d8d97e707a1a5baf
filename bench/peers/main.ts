/** `npm run bench:peers`: every peer does the same work, in rounds, each run in a process of its own. */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Ballast } from '../ballast.ts';
import { machineFacts, requireDisk } from '../../src/cli/machine.ts';
import { makeDirectory } from '../options.ts';
import { runChild } from '../processes.ts';
import { writeResults } from '../results.ts';
import { PEERS } from './adapters.ts';
import type { PeerJob, PeerValues } from './child.ts';
import { parsePeerOptions, PEER_HELP, type PeerBenchOptions } from './options.ts';
import { peerResultsText } from './output.ts';
import { ensurePackages, packageVersion } from './packages.ts';
import type { Peer } from './peer.ts';
import { PEER_RESULTS_VERSION, type PeerResults, type PeerRow } from './results.ts';
import { jobFor, PEER_WORKLOADS, type PeerWorkload, takesPart } from './workloads.ts';

const ENTRY = 'peers/child.js';
const TIMEOUT = 5 * 60_000;
const TIMEOUT_QUICK = 30_000;
const EXIT_USAGE = 2;

/** The samples of a peer in a workload, as they come in. */
interface GrowingRow extends PeerRow {
  readonly samples: Record<string, number[]>;
  failure?: string;
}

try {
  const options = parsePeerOptions(process.argv.slice(2));
  if (options.help) process.stdout.write(PEER_HELP);
  else await comparePeers(options);
} catch (error) {
  process.stderr.write(`npm run bench:peers: ${messageOf(error)}\n`);
  process.exitCode = EXIT_USAGE;
}

async function comparePeers(options: PeerBenchOptions): Promise<void> {
  const peers = chosen(PEERS, options.peers);
  const workloads = chosen(PEER_WORKLOADS, options.only);
  ensurePackages();
  const startedAt = new Date().toISOString();
  const dir = mkdtempSync(join(makeDirectory(options.dir), 'millrace-peers-'));
  try {
    requireDisk(dir);
    const rows = await runRounds(options, peers, workloads, dir);
    const results: PeerResults = {
      version: PEER_RESULTS_VERSION,
      kind: 'peers',
      startedAt,
      command: ['npm run bench:peers --', ...process.argv.slice(2)].join(' '),
      quick: options.quick,
      machine: machineFacts(dir),
      peers: peers.map(({ name, packages, guarantee, durable }) => ({
        name,
        versions: packages.map((used) => `${used} ${packageVersion(used)}`).join(', '),
        guarantee,
        durable,
      })),
      workloads: workloads.map(({ name, what, figures }) => ({ name, what, figures, rows: rows.get(name)! })),
    };
    process.stdout.write(peerResultsText(results));
    if (options.json !== undefined) writeResults(options.json, results);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function chosen<Item extends { readonly name: string }>(items: readonly Item[], parts: readonly string[]): Item[] {
  const found = items.filter(({ name }) => parts.length === 0 || parts.some((part) => name.includes(part)));
  if (found.length > 0) return found;
  throw new Error(`nothing has ${parts.join(' or ')} in its name: ${items.map(({ name }) => name).join(', ')}`);
}

/** Rounds outside, peers inside: what changes on the machine in an hour changes for all of them. */
async function runRounds(
  options: PeerBenchOptions,
  peers: readonly Peer[],
  workloads: readonly PeerWorkload[],
  dir: string,
): Promise<Map<string, GrowingRow[]>> {
  const ballast = new Ballast(dir, options.ballastBytes);
  const rows = new Map<string, GrowingRow[]>();
  for (const workload of workloads) {
    const taking = peers.filter((peer) => takesPart(peer, workload));
    rows.set(
      workload.name,
      taking.map(({ name }) => ({ peer: name, samples: {} })),
    );
  }
  for (let round = 0; round < options.rounds; round += 1) {
    for (const workload of workloads) {
      for (const row of rows.get(workload.name)!) {
        process.stderr.write(`round ${round + 1}/${options.rounds} ${workload.name} ${row.peer}\n`);
        ballast.fill();
        await runOnce(row, workload, makeDirectory(join(dir, 'run')), options.quick);
        rmSync(join(dir, 'run'), { recursive: true, force: true });
      }
    }
  }
  return rows;
}

/** A peer that fails says so and costs the others nothing. */
async function runOnce(row: GrowingRow, workload: PeerWorkload, dir: string, quick: boolean): Promise<void> {
  const peer = PEERS.find(({ name }) => name === row.peer)!;
  const job = jobFor(peer, workload, dir, quick);
  try {
    for (const [figure, value] of Object.entries(await valuesOf(workload, job, quick))) {
      (row.samples[figure] ??= []).push(value);
    }
  } catch (error) {
    row.failure = messageOf(error);
  }
}

async function valuesOf({ kind }: PeerWorkload, job: Omit<PeerJob, 'step'>, quick: boolean): Promise<PeerValues> {
  const timeout = quick ? TIMEOUT_QUICK : TIMEOUT;
  const step = async (name: PeerJob['step'], dies = false): Promise<PeerValues> =>
    (await runChild(ENTRY, { ...job, step: name } satisfies PeerJob, { timeout, dies })) as PeerValues;
  switch (kind) {
    case 'ingest':
      return step('ingest');
    case 'read': {
      const loaded = await step('load');
      return { ...(await step('read')), ...loaded };
    }
    case 'reopen':
      await step('load and die', true);
      return step('reopen');
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
