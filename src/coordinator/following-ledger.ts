/** Follows the manifest of another process, without writing or truncating anything. */
import type { Clock } from '../base/clock.ts';
import { isMillraceError, MillraceError } from '../errors/millrace-error.ts';
import type { Ledger, Query } from './ledger.ts';
import { loadManifest, readCurrent, type LoadedManifest } from './manifest/manifest.ts';
import type { ManifestPlace } from './manifest/place.ts';

export class FollowingLedger implements Ledger {
  readonly #place: ManifestPlace;
  readonly #clock: Clock;
  #loaded: LoadedManifest;
  #closed = false;
  /** The refresh under way, and the one that starts after it for callers that came too late for the first. */
  #running: Promise<void> = Promise.resolve();
  #waiting: Promise<void> | undefined;

  private constructor(place: ManifestPlace, clock: Clock, loaded: LoadedManifest) {
    this.#place = place;
    this.#clock = clock;
    this.#loaded = loaded;
  }

  static async open(place: ManifestPlace, clock: Clock): Promise<FollowingLedger> {
    return new FollowingLedger(place, clock, await loadManifest(place, 'read'));
  }

  async change(): Promise<never> {
    throw new MillraceError('ERR_MILLRACE_READ_ONLY', 'the store was opened with readOnly: open it again without');
  }

  async read<Answer>(query: Query<Answer>): Promise<Answer> {
    this.#refuseClosed();
    const { state } = this.#loaded;
    return query(state, Math.max(state.now, Math.floor(this.#clock.now())));
  }

  async refresh(): Promise<void> {
    this.#refuseClosed();
    if (this.#waiting === undefined) {
      const start = (): Promise<void> => {
        this.#waiting = undefined;
        return this.#closed ? Promise.resolve() : this.#follow();
      };
      this.#waiting = this.#running.then(start, start);
      this.#running = this.#waiting;
    }
    await this.#waiting;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#running.catch(() => undefined);
    await this.#loaded.logHandle.close();
  }

  async #follow(): Promise<void> {
    const current = await readCurrent(this.#place);
    if (current?.fileNumber !== this.#loaded.fileNumber) {
      const before = this.#loaded;
      this.#loaded = await loadManifest(this.#place, 'read');
      await before.logHandle.close();
      return;
    }
    const { replay } = this.#loaded;
    try {
      await replay.advance(Infinity);
    } catch (error) {
      if (!isMillraceError(error, 'ERR_MILLRACE_MANIFEST_CORRUPT')) throw error;
      // A block caught half written looks damaged once its successor is there; by now it is whole, or it is damaged.
      await replay.advance(Infinity);
    }
  }

  #refuseClosed(): void {
    if (this.#closed) throw new MillraceError('ERR_MILLRACE_CLOSED', 'the coordinator is closed');
  }
}
