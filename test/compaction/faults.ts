/** Makes the n-th step of a job fail, whichever it is: before its effect, or after it with the answer lost. */
import { MillraceError } from '../../src/errors/millrace-error.ts';
import type { Coordinator } from '../../src/coordinator/coordinator.ts';
import type { ObjectStore, ObjectWriter } from '../../src/object/object-store.ts';

export type FaultMoment = 'before' | 'after';

export class Steps {
  /** Names of the steps so far. */
  readonly taken: string[] = [];
  failAt: number = Infinity;
  moment: FaultMoment = 'before';
  /** From the failure on everything fails, as in a process that is killed. */
  fatal = false;
  hit: string | undefined;

  async take<T>(name: string, effect: () => Promise<T>): Promise<T> {
    const index = this.taken.push(name) - 1;
    const fails = this.fatal ? index >= this.failAt : index === this.failAt;
    if (!fails) return effect();
    this.hit ??= name;
    if (this.moment === 'after' && index === this.failAt) await effect();
    throw new MillraceError('ERR_MILLRACE_UNAVAILABLE', `injected ${this.moment} ${name}`);
  }
}

/** Steps of these kinds are counted; all others never fail. */
const COUNTED: ReadonlySet<string> = new Set([
  'claimJob',
  'findTrackingRuns',
  'reserveObjects',
  'commitJob',
  'abortObject',
  'releaseJob',
  'stats',
]);

export function faultyCoordinator(inner: Coordinator, steps: Steps): Coordinator {
  return new Proxy(inner, {
    get(target, name): unknown {
      const value = Reflect.get(target, name, target) as unknown;
      if (typeof value !== 'function') return value;
      const method = value.bind(target) as (...values: unknown[]) => Promise<unknown>;
      if (!COUNTED.has(String(name))) return method;
      return (...values: unknown[]) => steps.take(String(name), () => method(...values));
    },
  });
}

export class FaultyStore implements ObjectStore {
  readonly #inner: ObjectStore;
  readonly #steps: Steps;

  constructor(inner: ObjectStore, steps: Steps) {
    this.#inner = inner;
    this.#steps = steps;
  }

  async create(key: string): Promise<ObjectWriter> {
    const writer = await this.#steps.take('create', () => this.#inner.create(key));
    return {
      write: (bytes) => this.#steps.take('write', () => writer.write(bytes)),
      commit: () => this.#steps.take('commit', () => writer.commit()),
      abort: () => writer.abort(),
    };
  }

  read(key: string, position: number, length: number): Promise<Uint8Array> {
    return this.#steps.take('read', () => this.#inner.read(key, position, length));
  }

  size(key: string): Promise<number | undefined> {
    return this.#steps.take('size', () => this.#inner.size(key));
  }

  delete(keys: readonly string[]): Promise<string[]> {
    return this.#steps.take('delete', () => this.#inner.delete(keys));
  }

  list(prefix?: string): ReturnType<ObjectStore['list']> {
    return this.#inner.list(prefix);
  }

  removeUnfinished(startedBefore: number, dryRun?: boolean): Promise<number> {
    return this.#inner.removeUnfinished(startedBefore, dryRun);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}
