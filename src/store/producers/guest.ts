/**
 * The producer's side of a lane, in a thread of its own: appends go straight into shared memory, and the WAL worker of
 * the store makes them durable. The store's thread is asked for streams only, and told when a filling has ended.
 */
import type { MessagePort } from 'node:worker_threads';
import { systemClock } from '../../base/clock.ts';
import { isMillraceError, MillraceError, unpackError } from '../../errors/millrace-error.ts';
import { type AppendOptions, checkAppendOptions, keyBytes } from '../../record/record-input.ts';
import type { RecordInput, RecordValue } from '../../record/record-input.ts';
import type { PublisherMark } from '../../record/tracking-state.ts';
import { Doorbell } from '../../ring/doorbell.ts';
import { FillingAge } from '../../stream/filling-age.ts';
import type { WritableStreamState } from '../../stream/frame-appender.ts';
import { Lane, type TrackingSource } from '../../stream/lane.ts';
import { checkStreamName } from '../../stream/name.ts';
import { Publisher } from '../../stream/publisher.ts';
import { checkReference } from '../../stream/reference.ts';
import type { StreamOptions } from '../../stream/stream-options.ts';
import { PortCalls } from '../../thread/port-calls.ts';
import { HeldPublishers } from './held-publishers.ts';
import type { GrantedStream, LaneHandover, ProducerHandle, ProducerRequest, StoreRequest } from './handle.ts';

/**
 * Takes over a lane that `store.producer()` made in another thread. The handle comes by `postMessage` or in
 * `workerData`, with its `transferList`. `ERR_MILLRACE_INVALID_ARGUMENT`: it is none, or was attached before.
 * `ERR_MILLRACE_CLOSED` on its streams when the store has closed meanwhile.
 */
export async function attachProducer(handle: ProducerHandle): Promise<Producer> {
  // Messages make plain objects of handles.
  const given = handle as { readonly port?: MessagePort; readonly lane?: LaneHandover } | null | undefined;
  const { port, lane } = given ?? {};
  if (typeof port?.postMessage === 'function' && lane !== undefined) {
    claim(lane);
    return new Producer(port, lane);
  }
  throw new MillraceError(
    'ERR_MILLRACE_INVALID_ARGUMENT',
    'attachProducer takes what `store.producer()` made, sent with its `transferList`',
  );
}

/** A handle is for one: also a copy of it that was sent to another thread is the same lane. */
function claim(lane: LaneHandover): void {
  if (Atomics.exchange(new Int32Array(lane.claim), 0, 1) === 0) return;
  throw new MillraceError(
    'ERR_MILLRACE_INVALID_ARGUMENT',
    'the handle has been attached before: a lane has one writer, ask `store.producer()` for another one',
  );
}

/** A lane of one's own: streams that are open here take appends of this thread only. */
export class Producer {
  readonly #lane: Lane;
  readonly #age: FillingAge;
  readonly #calls: PortCalls<ProducerRequest, StoreRequest>;
  readonly #streams = new Map<number, ProducerStream>();
  readonly #opening = new Map<string, Promise<ProducerStream>>();
  #closing: Promise<void> | undefined;

  /** @internal */
  constructor(port: MessagePort, { ring, geometry, identity, start, released, ...limits }: LaneHandover) {
    this.#age = new FillingAge(() => this.#lane, limits.flushInterval);
    this.#calls = new PortCalls(port, {
      handle: (request) => this.#handle(request),
      gone: () => {
        this.#fail(new MillraceError('ERR_MILLRACE_CLOSED', 'the store of this producer was closed'));
      },
    });
    this.#lane = new Lane(
      {
        ring,
        geometry,
        identity,
        start,
        released,
        doorbell: new Doorbell(limits.doorbell),
        clock: systemClock,
        maxRecordBytes: limits.maxRecordBytes,
        maxQueuedBytes: limits.maxQueuedBytes,
      },
      {
        sealed: () => {
          this.#age.stop();
          this.#calls.tell({ type: 'sealed' });
        },
        durable: () => {
          this.#age.start();
        },
        pending: (waiting) => {
          this.#calls.hold(waiting);
        },
      },
    );
    this.#calls.tell({ type: 'attached' });
  }

  /**
   * The stream of that name, for appends of this thread alone; made, with `options`, when there is none.
   * `ERR_MILLRACE_STREAM_HELD`: another producer has it.
   */
  async stream(name: string, options: StreamOptions = {}): Promise<ProducerStream> {
    checkStreamName(name);
    this.#check();
    const open = [...this.#streams.values()].find((stream) => stream.name === name);
    if (open !== undefined) return open;
    let opening = this.#opening.get(name);
    if (opening === undefined) {
      opening = this.#open(name, options).finally(() => this.#opening.delete(name));
      this.#opening.set(name, opening);
    }
    return opening;
  }

  /** Makes everything appended durable and gives all streams, and the lane, back to the store. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** As `close`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #open(name: string, options: StreamOptions): Promise<ProducerStream> {
    const granted = (await this.#ask({ type: 'stream', name, options })) as GrantedStream;
    const stream = new ProducerStream(granted, {
      lane: () => {
        this.#check();
        return this.#lane;
      },
      release: (streamId) => this.#release(streamId),
      publisher: async (streamId, reference) =>
        (await this.#ask({ type: 'publisher', streamId, reference })) as PublisherMark | undefined,
    });
    this.#streams.set(granted.streamId, stream);
    return stream;
  }

  async #release(streamId: number): Promise<void> {
    await this.#settle();
    await this.#ask({ type: 'release', streamId });
    this.#streams.delete(streamId);
  }

  async #close(): Promise<void> {
    for (const stream of this.#streams.values()) stream.bar();
    try {
      await this.#settle();
      await this.#ask({ type: 'close' });
    } catch (error) {
      // A store that was closed before has everything already.
      if (!isMillraceError(error, 'ERR_MILLRACE_CLOSED')) throw error;
    } finally {
      this.#fail(new MillraceError('ERR_MILLRACE_CLOSED', 'the producer was closed'));
      this.#calls.close();
    }
  }

  /** A store that has stopped ends all that was asked of it, after it has said why. */
  async #ask(request: ProducerRequest): Promise<unknown> {
    try {
      return await this.#calls.call(request);
    } catch (error) {
      if (isMillraceError(error, 'ERR_MILLRACE_CLOSED') && this.#lane.failure !== undefined) throw this.#lane.failure;
      throw error;
    }
  }

  /** Everything appended so far is durable, and in fillings that have ended. */
  async #settle(): Promise<void> {
    await this.#lane.drained();
    this.#lane.seal();
    await this.#lane.barrier();
  }

  #handle(request: StoreRequest): unknown {
    switch (request.type) {
      case 'released':
        this.#lane.release(request.slotSequence);
        return undefined;
      case 'seal':
        return this.#settle();
      case 'closing':
        for (const stream of this.#streams.values()) stream.bar();
        this.#closing ??= Promise.resolve();
        return this.#settle();
      case 'track':
        return this.#track(request.streamId, request.contents);
      case 'failed':
        this.#fail(unpackError(request.error));
        return undefined;
    }
  }

  async #track(streamId: number, contents: readonly Uint8Array[]): Promise<void> {
    const stream = this.#streams.get(streamId);
    if (stream === undefined) throw new MillraceError('ERR_MILLRACE_CLOSED', `stream ${streamId} was given back`);
    await this.#lane.appendTracking(stream.state, sourceOf(contents));
  }

  #fail(error: MillraceError): void {
    this.#age.stop();
    this.#lane.fail(error);
    this.#calls.hold(false);
  }

  #check(): void {
    if (this.#closing !== undefined) throw new MillraceError('ERR_MILLRACE_CLOSED', 'the producer was closed');
    if (this.#lane.failure !== undefined) throw this.#lane.failure;
  }
}

interface ProducerStreamHost {
  /** Throws a coded error when nothing can be appended. */
  lane(): Lane;
  release(streamId: number): Promise<void>;
  /** The latest record of a publisher, as the store knows it. */
  publisher(streamId: number, reference: string): Promise<PublisherMark | undefined>;
}

/** A stream that takes appends of this thread only. It is read from the store's thread. */
export class ProducerStream {
  /** Its name. */
  readonly name: string;
  /** @internal */
  readonly state: WritableStreamState;
  readonly #host: ProducerStreamHost;
  readonly #references: HeldPublishers;
  readonly #publishers = new Map<string, Publisher>();
  #barred = false;

  /** @internal */
  constructor({ streamId, name, nextOffset, epoch }: GrantedStream, host: ProducerStreamHost) {
    this.name = name;
    this.state = { streamId, nextOffset, epoch, userBytes: 0, trackingBytes: 0 };
    this.#host = host;
    this.#references = new HeldPublishers((reference) => host.publisher(streamId, reference));
  }

  /** As `Stream.append`: resolves with the offset once the record is durable. */
  append(value: RecordValue, options?: AppendOptions): Promise<number> {
    try {
      const lane = this.#lane();
      checkAppendOptions(options);
      return lane.append(this.state, value, options === undefined ? null : keyBytes(options.key), options?.timestamp);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** As `Stream.appendMany`: resolves with the first offset once all are durable. */
  appendMany(records: readonly RecordInput[]): Promise<number> {
    try {
      return this.#lane().appendMany(this.state, records);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** As `Stream.publisher`. Its ids go on where they ended, and go on in the thread that has the stream next. */
  publisher(reference: string): Publisher {
    checkReference(reference);
    let publisher = this.#publishers.get(reference);
    if (publisher === undefined) {
      publisher = new Publisher(reference, {
        stream: this.state,
        lane: () => this.#lane(),
        references: () => this.#references,
      });
      this.#publishers.set(reference, publisher);
    }
    return publisher;
  }

  /** Gives the stream back, once everything appended is in a segment: the store, or another producer, may append. */
  async release(): Promise<void> {
    this.#lane();
    this.bar();
    await this.#host.release(this.state.streamId);
  }

  /** @internal Appends are refused from now on. */
  bar(): void {
    this.#barred = true;
  }

  #lane(): Lane {
    const lane = this.#host.lane();
    if (!this.#barred) return lane;
    throw new MillraceError('ERR_MILLRACE_CLOSED', `${this.name} was given back: ask the producer for it again`);
  }
}

/** Contents that were gathered before. */
export function sourceOf(contents: readonly Uint8Array[]): TrackingSource {
  let placed = 0;
  return {
    next: () => contents[placed],
    placed: () => {
      placed += 1;
    },
  };
}
