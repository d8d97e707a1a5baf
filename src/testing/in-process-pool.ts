/** Pool jobs in the thread of the application. */
import type { Clock } from '../base/clock.ts';
import type { FileSystem } from '../base/file-system.ts';
import type { Random } from '../base/random.ts';
import type { Timers } from '../base/timers.ts';
import { type RewriteEnvironment, runRewriteJob } from '../compaction/rewrite.ts';
import type { RewriteJob, RewriteResult } from '../compaction/rewrite-job.ts';
import { packError, unpackError } from '../errors/millrace-error.ts';
import { type FlushedSegment, type FlushJob, runFlushJob } from '../flush/flush-job.ts';
import { describeDirectoryStore, DirectoryObjectStore } from '../object/directory-object-store.ts';
import type { ObjectStore, ObjectStoreDescriptor } from '../object/object-store.ts';
import { openDescriptor } from '../object/open-descriptor.ts';
import type { JobPool } from '../store/environment.ts';

export type OpenObjects = (descriptor: ObjectStoreDescriptor) => Promise<ObjectStore>;

export interface InProcessPoolOptions {
  readonly fileSystem: FileSystem;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  /** Opens object stores that are no directories. Default by their descriptor's module. */
  readonly openObjects?: OpenObjects | undefined;
}

const DIRECTORY_MODULE = describeDirectoryStore({ root: '/' }).module;

export class InProcessPool implements JobPool {
  /** Not counted: the thread that asks sends them itself. */
  readonly requests: JobPool['requests'] = {};
  readonly #options: InProcessPoolOptions;
  readonly #environment: RewriteEnvironment;
  readonly #stores = new Map<string, Promise<ObjectStore>>();
  readonly #running = new Set<Promise<unknown>>();

  constructor(options: InProcessPoolOptions) {
    this.#options = options;
    const { clock, random, timers } = options;
    this.#environment = { clock, random, sleep: (milliseconds) => timers.sleep(milliseconds) };
  }

  flush(job: FlushJob): Promise<FlushedSegment> {
    return this.#run(job.objects, (objects) => runFlushJob(job, objects));
  }

  rewrite(job: RewriteJob): Promise<RewriteResult> {
    return this.#run(job.objects, (objects) => runRewriteJob(job, objects, this.#environment));
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#running);
    for (const store of this.#stores.values()) await (await store).close();
  }

  async #run<T>(descriptor: ObjectStoreDescriptor, work: (objects: ObjectStore) => Promise<T>): Promise<T> {
    const running = this.#storeOf(descriptor).then(work);
    this.#running.add(running);
    try {
      return await running;
    } catch (error) {
      // As from another thread, which takes an error's class away.
      throw unpackError(packError(error, 'ERR_MILLRACE_WORKER_DIED'));
    } finally {
      this.#running.delete(running);
    }
  }

  #storeOf(descriptor: ObjectStoreDescriptor): Promise<ObjectStore> {
    const name = JSON.stringify(descriptor);
    const store = this.#stores.get(name) ?? this.#open(descriptor);
    this.#stores.set(name, store);
    return store;
  }

  #open({ module, options }: ObjectStoreDescriptor): Promise<ObjectStore> {
    const { root } = options;
    const { fileSystem, random, clock, openObjects = openDescriptor } = this.#options;
    if (module !== DIRECTORY_MODULE || typeof root !== 'string') return openObjects({ module, options });
    return Promise.resolve(new DirectoryObjectStore({ root, fileSystem, random, clock }));
  }
}
