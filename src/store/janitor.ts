/** Keeps house: trims by retention, ends what has expired, and deletes objects whose grace has passed. */
import type { Coordinator } from '../coordinator/coordinator.ts';
import type { ObjectStore } from '../object/object-store.ts';
import type { Trimming } from './trimming.ts';

/** Idle streams age too, so retention runs on a timer and not only when something is written. */
const INTERVAL = 10_000;
/** Objects deleted in one round. */
const DELETE_AT_ONCE = 1_000;

export class Janitor {
  readonly #coordinator: Coordinator;
  readonly #objects: ObjectStore;
  readonly #trimming: Trimming;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;

  constructor(coordinator: Coordinator, objects: ObjectStore, trimming: Trimming) {
    this.#coordinator = coordinator;
    this.#objects = objects;
    this.#trimming = trimming;
  }

  start(): void {
    this.#timer = setInterval(() => {
      // A round that fails is tried again at the next tick: nothing depends on when garbage goes.
      this.#running ??= this.round()
        .catch(() => undefined)
        .finally(() => {
          this.#running = undefined;
        });
    }, INTERVAL);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }

  /** One round, whatever the timer says. */
  async round(): Promise<void> {
    await this.#trimming.enforce();
    await this.#coordinator.expire();
    const keys = await this.#coordinator.objectsToDelete(DELETE_AT_ONCE);
    if (keys.length === 0) return;
    await this.#coordinator.confirmDeleted(await this.#objects.delete(keys));
  }
}

/** At open: objects that the last process reserved and never committed. It is gone, and no reader ever saw them. */
export async function removeUnfinished(coordinator: Coordinator, objects: ObjectStore): Promise<void> {
  const reserved = await coordinator.listObjects({ state: 'reserved' });
  if (reserved.length === 0) return;
  const keys = reserved.map(({ key }) => key);
  // All at once, so that they share one sync of the manifest.
  await Promise.all(keys.map((key) => coordinator.abortObject(key)));
  await coordinator.confirmDeleted(await objects.delete(keys));
}
