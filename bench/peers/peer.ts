/** What a peer is: an engine behind one interface, whichever it is. */
import type { ServerProgram } from './servers/program.ts';

export interface Peer {
  readonly name: string;
  /** Its packages, for their versions; none for what is part of this repository. */
  readonly packages: readonly string[];
  /** The server that it needs, which has to be on the machine; none for an engine in the process. */
  readonly program?: ServerProgram;
  /** What holds for a record when its append is acknowledged here. */
  readonly guarantee: string;
  /** Whether an acknowledged record outlives a power loss. */
  readonly durable: boolean;
  /** Groups of appends in flight: 1 where an append blocks and nothing can overlap, else 2. */
  readonly groups: 1 | 2;
  /** Whether records can be read back. */
  readonly reads: boolean;
  /** Whether a record can be read by its number. Default true. */
  readonly gets?: boolean;
  /** More streams than this are not what it is made for. Default unlimited. */
  readonly streamsMax?: number;
  readonly open: (options: PeerOptions) => Promise<PeerLog>;
}

export interface PeerOptions {
  /** Exists, and is the log's alone. Empty, or as an earlier `PeerLog` of the same options left it. */
  readonly dir: string;
  readonly streams: number;
  readonly recordBytes: number;
  /** `count` more records are acknowledged, in the order in which they were appended. May be called inside `append`. */
  readonly acknowledged: (count: number) => void;
  /** An append failed: the run is over. */
  readonly failed: (error: unknown) => void;
}

/** A process that works for the log, beside this one. */
export interface PeerServer {
  /** Seconds so far, or `NaN` where nothing is known. */
  processorSeconds(): number;
  /** Or `NaN` where nothing is known. */
  peakBytes(): number;
  kill(): Promise<void>;
}

/** A log that is open. Records are numbered from 0 in each stream; reads are of stream 0. */
export interface PeerLog {
  readonly server?: PeerServer;
  /** Appends a group: `values[i]` goes to the stream `(firstStream + i) % streams`. */
  append(values: readonly Buffer[], firstStream: number): void;
  /** How many records there are. */
  count(): Promise<number>;
  get(index: number): Uint8Array | undefined | Promise<Uint8Array | undefined>;
  /** Calls `visit` with every record in order. */
  scan(visit: (value: Uint8Array) => void): Promise<void>;
  /** Everything acknowledged stays; what was not may be lost. */
  close(): Promise<void>;
}

/** Of stream and record: sorts as numbers do. */
export function keyBuffer(stream: number, index: number): Buffer {
  const key = Buffer.allocUnsafe(10);
  key.writeUInt32BE(stream, 0);
  key.writeUIntBE(index, 4, 6);
  return key;
}

export function indexOfKey(key: Uint8Array): number {
  return Buffer.from(key.buffer, key.byteOffset, key.byteLength).readUIntBE(4, 6);
}

/** For logs that cannot be read. */
export function unreadable(name: string): Pick<PeerLog, 'count' | 'get' | 'scan'> {
  const refuse = (): never => {
    throw new Error(`${name} keeps nothing that could be read`);
  };
  return { count: async () => refuse(), get: refuse, scan: async () => refuse() };
}
