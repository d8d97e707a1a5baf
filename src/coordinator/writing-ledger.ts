/**
 * Group commit: commands that arrive while a batch is being synced wait together and share the next write and sync.
 *
 * Commands of one batch build on each other, so that a command's events are applied to the state as soon as they are
 * judged, before they are durable. Nobody sees that: answers wait for the sync, and a read that arrives in between
 * waits for it too. When the sync fails, the state is read back from what is durable, and nothing more is accepted.
 */
import type { Clock } from '../base/clock.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import { writeFailure } from '../errors/write-failure.ts';
import type { Command, Decision } from './commands/decision.ts';
import type { Ledger, Query } from './ledger.ts';
import { writeCloseMark } from './manifest/close-mark.ts';
import type { LogWriter } from './manifest/log-writer.ts';
import { loadManifest, openManifest, removeOthers, writeGeneration, type Generation } from './manifest/manifest.ts';
import type { ManifestPlace } from './manifest/place.ts';
import { advanceTime, apply } from './state/apply.ts';
import type { StateEvent } from './state/event.ts';
import type { State } from './state/state.ts';

/** A batch takes no further command once it holds this much. */
const BATCH_BYTES_TARGET = 4 * 1024 * 1024;

export interface LedgerOptions extends ManifestPlace {
  readonly clock: Clock;
  /** A log smaller than this is not replaced by a snapshot. */
  readonly logBytesMin: number;
}

interface Waiting {
  /** Judges the command and applies its events; returns what to do once they are durable. */
  readonly decide: () => () => void;
  readonly reject: (error: unknown) => void;
}

interface WaitingRead {
  readonly run: () => void;
  readonly reject: (error: unknown) => void;
}

type OpenedManifest = Awaited<ReturnType<typeof openManifest>>;

export class WritingLedger implements Ledger {
  readonly #options: LedgerOptions;
  #state: State;
  #generation: Generation;
  #fileNumber: number;
  #queue: Waiting[] = [];
  /** Reads that arrived while the state was ahead of the disk. */
  #reads: WaitingRead[] = [];
  #ahead = false;
  #draining: Promise<void> | undefined;
  /** Why nothing is accepted any more. */
  #failure: Error | undefined;
  /** Why nothing can be answered any more. */
  #unreadable: Error | undefined;
  #closing: Promise<void> | undefined;

  private constructor(options: LedgerOptions, opened: OpenedManifest) {
    this.#options = options;
    this.#state = opened.state;
    this.#fileNumber = opened.fileNumber;
    this.#generation = { log: opened.log, snapshotBytes: opened.snapshotBytes };
  }

  static async open(options: LedgerOptions): Promise<WritingLedger> {
    return new WritingLedger(options, await openManifest(options));
  }

  change<Answer>(command: Command<Answer>): Promise<Answer> {
    return new Promise<Answer>((resolve, reject) => {
      if (this.#failure !== undefined) throw this.#failure;
      this.#refuseClosed();
      const decide = (): (() => void) => {
        let decision: Decision<Answer>;
        try {
          decision = command(this.#state);
        } catch (error) {
          // A refusal rests on what came before it in the batch: it is given when that is certain.
          return () => reject(error);
        }
        this.#record(decision.events);
        return () => resolve(decision.answer);
      };
      this.#queue.push({ decide, reject });
      // Started from a microtask, so that all commands of a tick share the first sync.
      this.#draining ??= Promise.resolve().then(() => this.#drain());
    });
  }

  read<Answer>(query: Query<Answer>): Promise<Answer> {
    return new Promise<Answer>((resolve, reject) => {
      this.#refuseClosed();
      if (this.#unreadable !== undefined) throw this.#unreadable;
      const run = (): void => {
        try {
          resolve(query(this.#state, this.#now()));
        } catch (error) {
          reject(error);
        }
      };
      if (this.#ahead) this.#reads.push({ run, reject });
      else run();
    });
  }

  async refresh(): Promise<void> {
    this.#refuseClosed();
  }

  close(): Promise<void> {
    this.#closing ??= this.#finish();
    return this.#closing;
  }

  async #finish(): Promise<void> {
    await this.#draining;
    const { log } = this.#generation;
    try {
      if (this.#failure === undefined) await this.#markEnd(log);
    } catch (error) {
      throw writeFailure(log.path, error);
    } finally {
      await log.close();
    }
  }

  /**
   * Behind a last block that is empty, damage to any block that matters cannot pass for a torn write; and from a mark,
   * a log that was cut cannot pass for one that was not written further.
   */
  async #markEnd(log: LogWriter): Promise<void> {
    const reached = log.end;
    log.begin(this.#state.now);
    await log.append();
    await writeCloseMark(this.#options, { fileNumber: this.#fileNumber, ...reached });
  }

  #refuseClosed(): void {
    if (this.#closing !== undefined) throw new MillraceError('ERR_MILLRACE_CLOSED', 'the coordinator is closed');
  }

  #now(): number {
    return Math.max(this.#state.now, Math.floor(this.#options.clock.now()));
  }

  #record(events: readonly StateEvent[]): void {
    for (const event of events) {
      this.#generation.log.add(event);
      apply(this.#state, event);
    }
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0 && this.#failure === undefined) {
      const taken: Waiting[] = [];
      try {
        await this.#commitBatch(taken);
      } catch (error) {
        await this.#fail(error, taken);
        break;
      }
      await this.#replaceLog();
    }
    this.#draining = undefined;
  }

  async #commitBatch(taken: Waiting[]): Promise<void> {
    const { log } = this.#generation;
    advanceTime(this.#state, this.#now());
    log.begin(this.#state.now);
    const empty = log.pendingBytes;
    const settle: (() => void)[] = [];
    this.#ahead = true;
    for (const waiting of this.#queue) {
      if (log.pendingBytes >= BATCH_BYTES_TARGET) break;
      taken.push(waiting);
      settle.push(waiting.decide());
    }
    this.#queue = this.#queue.slice(taken.length);
    // Nothing but questions, refusals and replays: they rest on what is durable already.
    if (log.pendingBytes > empty) await log.append();
    this.#settle(settle);
  }

  /** The state is durable: answers and reads see exactly it, before the next batch changes it. */
  #settle(answers: readonly (() => void)[]): void {
    this.#ahead = false;
    for (const answer of answers) answer();
    const reads = this.#reads;
    this.#reads = [];
    for (const read of reads) read.run();
  }

  /** Stops for good: what is not durable is forgotten, and reads go on with what is. */
  async #fail(error: unknown, taken: readonly Waiting[]): Promise<void> {
    const { log } = this.#generation;
    const failure = writeFailure(log.path, error);
    this.#failure = failure;
    const refused = new Set([...taken, ...this.#queue]);
    this.#queue = [];
    for (const waiting of refused) waiting.reject(failure);
    try {
      const loaded = await loadManifest(this.#options, 'read', log.durableBytes);
      await loaded.logHandle.close();
      this.#state = loaded.state;
      this.#settle([]);
    } catch (loading) {
      this.#unreadable = loading instanceof Error ? loading : new Error(String(loading));
      for (const read of this.#reads) read.reject(loading);
      this.#reads = [];
    }
  }

  /** Once the log outweighs the snapshot, a new snapshot is cheaper to open than the log is to replay. */
  async #replaceLog(): Promise<void> {
    const { log, snapshotBytes } = this.#generation;
    if (log.durableBytes <= Math.max(this.#options.logBytesMin, snapshotBytes)) return;
    try {
      const next = await writeGeneration(this.#options, this.#fileNumber + 1, this.#state);
      this.#generation = next;
      this.#fileNumber += 1;
      await log.close();
      removeOthers(this.#options, this.#fileNumber);
    } catch (error) {
      // All of the state is durable in the old files or the new ones: only what comes next has no place to go.
      this.#failure = writeFailure(this.#options.directory, error);
      for (const waiting of this.#queue) waiting.reject(this.#failure);
      this.#queue = [];
    }
  }
}
