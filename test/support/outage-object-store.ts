/** Objects in a directory, in front of a server that answers 503 to everything while a certain file is there. */
import { existsSync } from 'node:fs';
import { MillraceError } from '../../src/errors/millrace-error.ts';
import { DirectoryObjectStore } from '../../src/object/directory-object-store.ts';
import type { ObjectStore, ObjectStoreComponent } from '../../src/object/object-store.ts';

export interface OutageOptions {
  readonly root: string;
  /** Path of the file. */
  readonly outage: string;
}

/** What a descriptor of this module describes. */
export async function openObjectStore(options: Readonly<Record<string, unknown>>): Promise<ObjectStore> {
  const { root, outage } = options as unknown as OutageOptions;
  return new Proxy<ObjectStore>(new DirectoryObjectStore({ root }), {
    get: (target, name) => {
      const value = Reflect.get(target, name, target) as unknown;
      if (typeof value !== 'function') return value;
      return (...values: unknown[]): unknown => {
        if (name !== 'close' && existsSync(outage)) {
          return Promise.reject(new MillraceError('ERR_MILLRACE_UNAVAILABLE', 'SlowDown, HTTP 503'));
        }
        return (value as (...all: unknown[]) => unknown).apply(target, values);
      };
    },
  });
}

export function behindOutages(options: OutageOptions): ObjectStoreComponent {
  return {
    descriptor: { module: import.meta.url, options: { ...options } },
    open: () => openObjectStore({ ...options }),
  };
}
