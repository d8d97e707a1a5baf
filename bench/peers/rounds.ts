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
  readonly round: number;
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
  const runs = planRuns(options.rounds, peers, workloads, rows);
  const ballast = new Ballast(dir, options.ballastBytes);
  const begun = performance.now();
  for (const [index, run] of runs.entries()) {
    const minutes = ((performance.now() - begun) / 60_000).toFixed(1);
    const { round, workload, peer } = run;
    process.stderr.write(
      `${index + 1}/${runs.length} after ${minutes} min: round ${round}, ${workload.name}, ${peer.name}\n`,
    );
    ballast.fill();
    await runOnce(run, makeDirectory(join(dir, 'run')), options, signal);
    rmSync(join(dir, 'run'), { recursive: true, force: true });
    signal.throwIfAborted();
  }
  return rows;
}

function planRuns(
  rounds: number,
  peers: readonly Peer[],
  workloads: readonly PeerWorkload[],
  rows: ReadonlyMap<string, GrowingRow[]>,
): Run[] {
  const first = workloads.flatMap((workload) =>
    peers
      .filter((peer) => takesPart(peer, workload))
      .map((peer): Run => {
        const row: GrowingRow = { peer: peer.name, samples: {} };
        rows.get(workload.name)!.push(row);
        return { round: 1, workload, peer, row };
      }),
  );
  const others = Array.from({ length: rounds - 1 }, (_, index) => index + 2);
  return [
    ...first,
    ...others.flatMap((round) => first.filter(({ peer }) => peer.durable).map((run) => ({ ...run, round }))),
  ];
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
