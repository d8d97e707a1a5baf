/** The streams that are open here: one handle for all who ask, for as long as there is a stream of that name. */
import { assert } from '../base/assert.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import type { StreamConfig, StreamDescription } from '../record/stream-config.ts';
import type { WritableStreamState } from '../stream/frame-appender.ts';
import { checkStreamName } from '../stream/name.ts';
import type { SegmentAccess } from '../stream/segment-access.ts';
import { Stream, type StreamContext } from '../stream/stream.ts';
import { configOf, type StreamOptions } from '../stream/stream-options.ts';
import type { StoreParts } from './parts.ts';

interface OpenStream {
  readonly streamId: number;
  readonly state: WritableStreamState;
  readonly stream: Stream;
}

type Parts = Pick<StoreParts, 'coordinator' | 'writer' | 'shared' | 'compression' | 'recovered'>;

export class OpenStreams {
  readonly #parts: Parts;
  readonly #segments: SegmentAccess;
  readonly #context: StreamContext;
  readonly #streams = new Map<string, OpenStream>();
  /** The last opening or deletion of each name that is under way. */
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(parts: Parts, segments: SegmentAccess, context: StreamContext) {
    this.#parts = parts;
    this.#segments = segments;
    this.#context = context;
  }

  /** Makes the stream where there is none, and takes over what `options` give. */
  async open(name: string, options: StreamOptions): Promise<Stream> {
    const config = configOf(options);
    const { stream } = await this.#inTurn(name, () => this.#open(name, config));
    if (Object.keys(options).length > 0 && this.#parts.writer !== undefined) {
      const wanted = configOf(options, stream.config);
      if (JSON.stringify(wanted) !== JSON.stringify(stream.config)) await stream.configure(options);
    }
    return stream;
  }

  /** The stream as it is; `undefined` when there is none. */
  find(name: string): Promise<Stream | undefined> {
    return this.#inTurn(name, async () => {
      if ((await this.#parts.coordinator.findStream(name)) === undefined) return undefined;
      return (await this.#open(name, configOf({}))).stream;
    });
  }

  /** Opens the stream for a producer, which goes on where it ends; `take` is called before it can be deleted. */
  async hand<Taken>(name: string, options: StreamOptions, take: (state: WritableStreamState) => Taken): Promise<Taken> {
    await this.open(name, options);
    return this.#inTurn(name, async () => take((await this.#open(name, configOf(options))).state));
  }

  /** Returns false when there is none of that name. */
  delete(name: string): Promise<boolean> {
    return this.#inTurn(name, () => this.#delete(name));
  }

  /** Other processes configure streams that are open here, too. */
  async takeOverConfigs(): Promise<void> {
    for (const description of await this.#parts.coordinator.streams()) {
      const known = this.#streams.get(description.name);
      if (known?.streamId === description.streamId) known.stream.reconfigured(description);
    }
  }

  /** Openings and deletions of one name happen one after the other: a handle must not outlive its stream unnoticed. */
  async #inTurn<T>(name: string, work: () => Promise<T>): Promise<T> {
    checkStreamName(name);
    const turn = (this.#turns.get(name) ?? Promise.resolve()).then(work);
    const settled = turn.then(
      () => undefined,
      () => undefined,
    );
    this.#turns.set(name, settled);
    void settled.then(() => {
      if (this.#turns.get(name) === settled) this.#turns.delete(name);
    });
    return turn;
  }

  async #open(name: string, config: StreamConfig): Promise<OpenStream> {
    const { coordinator, writer, shared } = this.#parts;
    const known = this.#streams.get(name);
    if (known !== undefined && writer !== undefined && !shared) return known;
    // Looked for first: a store that has stopped takes no commands, and its streams can still be read.
    let description = await coordinator.findStream(name);
    if (description === undefined && writer !== undefined) {
      description = (await coordinator.createStream(name, config)).stream;
    }
    if (description === undefined) {
      const message = `there is no stream ${JSON.stringify(name)}: a store that is open for reading makes none`;
      throw new MillraceError('ERR_MILLRACE_STREAM_NOT_FOUND', message, { details: { stream: name } });
    }
    // To a reader, deletions come unannounced, as do those of other processes.
    if (known?.streamId === description.streamId) {
      known.stream.reconfigured(description);
      return known;
    }
    if (known !== undefined) {
      known.stream.markDeleted();
      writer?.trackers.close(known.streamId);
    }
    const open = await this.#make(description);
    this.#streams.set(name, open);
    return open;
  }

  async #make(description: StreamDescription): Promise<OpenStream> {
    const { coordinator, writer, compression, recovered } = this.#parts;
    const { streamId, config } = description;
    if (config.compression !== 'lz4') compression.set(streamId, config.compression);
    const { nextOffset, epoch } = await coordinator.findRuns(streamId, 0, { maxRuns: 1, maxBytes: 1 });
    const found = recovered.get(streamId);
    const state = {
      streamId,
      nextOffset: found?.nextOffset ?? nextOffset,
      epoch: Math.max(epoch, found?.epoch ?? 0),
      userBytes: 0,
      trackingBytes: 0,
    };
    const references =
      writer && (await writer.trackers.open(description.name, state, this.#segments, found?.tracking ?? []));
    return { streamId, state, stream: new Stream(description, state, this.#context, references) };
  }

  async #delete(name: string): Promise<boolean> {
    const { coordinator, writer, compression } = this.#parts;
    assert(writer !== undefined, 'a writable store deletes');
    const description = await coordinator.findStream(name);
    if (description === undefined) return false;
    const { streamId } = description;
    writer.laneFor(streamId);
    this.#streams.get(name)?.stream.markDeleted();
    this.#streams.delete(name);
    const deleted = await coordinator.deleteStream(streamId);
    writer.lane.memtable.dropStream(streamId);
    writer.trackers.close(streamId);
    compression.delete(streamId);
    this.#context.deleted(streamId);
    return deleted;
  }
}
