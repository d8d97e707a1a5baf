/** Runs the jobs: rounds outside, peers inside, so that what changes on the machine in an hour changes for all. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Ballast } from '../ballast.ts';
import { makeDirectory } from '../options.ts';
import { runChild } from '../processes.ts';
import type { PeerJob, PeerValues } from './child.ts';
import type { PeerBenchOptions } from './options.ts';
import type { Peer } from './peer.ts';
import type { PeerRow } from './results.ts';
import { endLeftServers } from './servers/server.ts';
import { jobFor, type PeerWorkload, takesPart } from './workloads.ts';

const ENTRY = 'peers/child.js';
const TIMEOUT = 3 * 60_000;

/** The samples of a peer in a workload, as they come in. */
export interface GrowingRow extends PeerRow {
  readonly samples: Record<string, number[]>;
  failure?: string;
}

interface Run {
  readonly workload: PeerWorkload;
  readonly peer: Peer;
  readonly row: GrowingRow;
}

/** Rows by workload. An engine that acknowledges early has one round: it is beside the comparison, not in it. */
export async function runRounds(
  options: PeerBenchOptions,
  peers: readonly Peer[],
  workloads: readonly PeerWorkload[],
  dir: string,
  signal: AbortSignal,
): Promise<Map<string, GrowingRow[]>> {
  const rows = new Map<string, GrowingRow[]>(workloads.map(({ name }) => [name, []]));
  const first = firstRound(peers, workloads, rows);
  const others = first.filter(({ peer }) => peer.durable);
  const ballast = new Ballast(dir, options.ballastBytes);
  const begun = performance.now();
  const elapsed = (): number => (performance.now() - begun) / 60_000;
  let next = 0;
  for (let round = 1; round <= options.rounds; round += 1) {
    if (elapsed() + next > options.minutes) {
      process.stderr.write(`${round - 1} rounds took ${elapsed().toFixed(1)} min: there is no time for another one\n`);
      break;
    }
    next = 0;
    const runs = round === 1 ? first : others;
    for (const [index, run] of runs.entries()) {
      const runBegun = elapsed();
      const place = `round ${round} of ${options.rounds}, run ${index + 1} of ${runs.length}`;
      process.stderr.write(`${runBegun.toFixed(1)} min: ${place}: ${run.workload.name}, ${run.peer.name}\n`);
      ballast.fill();
      await runOnce(run, makeDirectory(join(dir, 'run')), options, signal);
      rmSync(join(dir, 'run'), { recursive: true, force: true });
      signal.throwIfAborted();
      // What the next round will take.
      if (run.peer.durable) next += elapsed() - runBegun;
    }
  }
  return rows;
}

/** Makes the rows as well. */
function firstRound(
  peers: readonly Peer[],
  workloads: readonly PeerWorkload[],
  rows: ReadonlyMap<string, GrowingRow[]>,
): Run[] {
  return workloads.flatMap((workload) =>
    peers
      .filter((peer) => takesPart(peer, workload))
      .map((peer): Run => {
        const row: GrowingRow = { peer: peer.name, samples: {} };
        rows.get(workload.name)!.push(row);
        return { workload, peer, row };
      }),
  );
}

/** A peer that fails says so and costs the others nothing. */
async function runOnce(run: Run, dir: string, options: PeerBenchOptions, signal: AbortSignal): Promise<void> {
  const { row, workload, peer } = run;
  try {
    const values = await valuesOf(workload, jobFor(peer, workload, dir, options), signal);
    for (const [figure, value] of Object.entries(values)) (row.samples[figure] ??= []).push(value);
  } catch (error) {
    row.failure = error instanceof Error ? error.message : String(error);
    process.stderr.write(`  failed: ${row.failure}\n`);
  } finally {
    endLeftServers(dir);
  }
}

async function valuesOf({ kind }: PeerWorkload, job: Omit<PeerJob, 'step'>, signal: AbortSignal): Promise<PeerValues> {
  const step = async (name: PeerJob['step'], { records = job.records }: PeerValues = {}): Promise<PeerValues> => {
    const dies = name === 'load and die';
    const child = { ...job, records, step: name } satisfies PeerJob;
    return (await runChild(ENTRY, child, { timeout: TIMEOUT, dies, signal })) as PeerValues;
  };
  switch (kind) {
    case 'ingest':
      return step('ingest');
    case 'read': {
      const loaded = await step('load');
      return { ...(await step('read', loaded)), ...loaded };
    }
    case 'reopen': {
      const loaded = await step('load and die');
      return { ...(await step('reopen', loaded)), ...loaded };
    }
  }
}
