/** The JSON file of a comparison. */
import { readFileSync } from 'node:fs';
import type { Machine } from '../../src/cli/machine.ts';
import type { Figure } from '../workload.ts';

export const PEER_RESULTS_VERSION = 2;

export interface PeerDescription {
  readonly name: string;
  /** `package version`, comma-separated. */
  readonly versions: string;
  readonly guarantee: string;
  readonly durable: boolean;
}

/** An engine that could not take part. */
export interface AbsentPeer {
  readonly name: string;
  /** With the remedy. */
  readonly reason: string;
}

/** What one peer did in one workload. */
export interface PeerRow {
  readonly peer: string;
  /** One sample a round, by figure. */
  readonly samples: Readonly<Record<string, readonly number[]>>;
  /** Why rounds are missing. */
  readonly failure?: string;
}

export interface PeerWorkloadResult {
  readonly name: string;
  readonly what: string;
  readonly figures: readonly Figure[];
  readonly rows: readonly PeerRow[];
}

export interface PeerResults {
  readonly version: number;
  readonly kind: 'peers';
  readonly startedAt: string;
  readonly command: string;
  readonly quick: boolean;
  readonly machine: Machine;
  /** Of each ingest, at most. */
  readonly seconds: number;
  /** Of the whole comparison. */
  readonly minutes: number;
  readonly peers: readonly PeerDescription[];
  readonly absent: readonly AbsentPeer[];
  readonly workloads: readonly PeerWorkloadResult[];
}

/** Reads results of this version; throws an error that says what to do otherwise. */
export function readPeerResults(path: string): PeerResults {
  const results = JSON.parse(readFileSync(path, 'utf8')) as Partial<PeerResults>;
  if (results.kind !== 'peers' || results.version !== PEER_RESULTS_VERSION) {
    throw new Error(`${path} is not a comparison of this version: make it again with npm run bench:peers`);
  }
  return results as PeerResults;
}
