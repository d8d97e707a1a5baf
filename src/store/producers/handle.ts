/** What a producer thread is given, and what it and the store say to each other. Plain data, but for the port. */
import type { MessagePort } from 'node:worker_threads';
import type { ErrorData } from '../../errors/millrace-error.ts';
import type { RingGeometry } from '../../ring/geometry.ts';
import type { LaneIdentity, LaneStart } from '../../ring/producer.ts';
import type { StreamOptions } from '../../stream/stream-options.ts';

/** The ring of a producer. */
export interface ProducerOptions {
  /** Slots of the producer's ring. Default: as the store's. */
  readonly slots?: number;
  /** Bytes of a slot. Default: as the store's. The ring takes `slots` times this of memory, and as much disk. */
  readonly slotBytes?: number;
}

/**
 * A lane on its way to another thread: `worker.postMessage(handle, handle.transferList)` here, `attachProducer(handle)`
 * there.
 */
export class ProducerHandle {
  /** @internal */
  readonly port: MessagePort;
  /** @internal */
  readonly lane: LaneHandover;

  /** @internal */
  constructor(port: MessagePort, lane: LaneHandover) {
    this.port = port;
    this.lane = lane;
  }

  /** What `postMessage` has to transfer. */
  get transferList(): [MessagePort] {
    return [this.port];
  }
}

/** All that a lane needs in its thread. */
export interface LaneHandover {
  readonly ring: SharedArrayBuffer;
  readonly geometry: RingGeometry;
  readonly identity: LaneIdentity;
  readonly start: LaneStart;
  readonly released: number;
  readonly doorbell: SharedArrayBuffer;
  readonly maxRecordBytes: number;
  readonly maxQueuedBytes: number;
  readonly flushInterval: number;
  /** One word, 0 until somebody attaches: two writers of one ring would overwrite each other's records. */
  readonly claim: SharedArrayBuffer;
}

export const CLAIM_BYTES: number = Int32Array.BYTES_PER_ELEMENT;

/** From the producer's thread to the store's. */
export type ProducerRequest =
  /** The handle has arrived. Told. */
  | { readonly type: 'attached' }
  /** A filling ended. Told. */
  | { readonly type: 'sealed' }
  /** Asks for a stream; answered with `GrantedStream`. */
  | { readonly type: 'stream'; readonly name: string; readonly options: StreamOptions }
  /** Asks for the latest record of a publisher of a stream that it has; answered with its mark, if there is one. */
  | { readonly type: 'publisher'; readonly streamId: number; readonly reference: string }
  /** Gives a stream back; everything appended to it is durable, and its filling has ended. */
  | { readonly type: 'release'; readonly streamId: number }
  /** Gives everything back; everything appended is durable, and the last filling has ended. */
  | { readonly type: 'close' };

/** From the store's thread to the producer's. */
export type StoreRequest =
  /** A filling is in a segment. Told. */
  | { readonly type: 'released'; readonly slotSequence: number }
  /** Ends the filling; answered when everything appended before is durable. */
  | { readonly type: 'seal' }
  /** The store closes: no appends any more, then as `seal`. */
  | { readonly type: 'closing' }
  /** Writes tracking of a stream that the producer holds; answered when it is durable. */
  | { readonly type: 'track'; readonly streamId: number; readonly contents: readonly Uint8Array[] }
  /** Nothing more becomes durable. Told. */
  | { readonly type: 'failed'; readonly error: ErrorData };

export interface GrantedStream {
  readonly streamId: number;
  readonly name: string;
  readonly nextOffset: number;
  readonly epoch: number;
}
