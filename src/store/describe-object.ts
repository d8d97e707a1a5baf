/** What is known of one object: by the coordinator, and by the object store. */
import type { Coordinator, FoundRun, ObjectDescription } from '../coordinator/coordinator.ts';
import { invalid, shown } from '../errors/argument-checks.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import type { ObjectStore } from '../object/object-store.ts';
import { OBJECT_STATES } from './object-filter.ts';

/** One object, as the coordinator and the object store know it. */
export interface DescribedObject extends ObjectDescription {
  /** Its live runs in the order of their bytes, with the names of their streams. */
  readonly runs: readonly (FoundRun & {
    /** `undefined` when the stream was deleted. */
    readonly stream: string | undefined;
  })[];
  /** Its size in the object store; `undefined` when it is not there. */
  readonly storedBytes: number | undefined;
}

/** Throws `ERR_MILLRACE_OBJECT_NOT_FOUND` for a key that the coordinator does not know. */
export async function describeObject(
  coordinator: Coordinator,
  objects: ObjectStore,
  key: string,
): Promise<DescribedObject> {
  if (typeof key !== 'string') throw invalid(`the key of an object is a string, not ${shown(key)}`);
  const object = await findObject(coordinator, key);
  if (object === undefined) {
    throw new MillraceError('ERR_MILLRACE_OBJECT_NOT_FOUND', `the store knows no object ${JSON.stringify(key)}`, {
      details: { key },
    });
  }
  const names = new Map((await coordinator.streams()).map(({ streamId, name }) => [streamId, name]));
  const runs = await coordinator.objectRuns(key);
  return {
    ...object,
    runs: runs.map((run) => ({ ...run, stream: names.get(run.streamId) })),
    storedBytes: await objects.size(key),
  };
}

async function findObject(coordinator: Coordinator, key: string): Promise<ObjectDescription | undefined> {
  const [found] = await coordinator.classifyKeys([key]);
  const state = OBJECT_STATES.find((candidate) => candidate === found);
  if (state === undefined) return undefined;
  // No key lies between a key and what it begins with.
  const [object] = await coordinator.listObjects({ state, after: key.slice(0, -1), limit: 1 });
  return object?.key === key ? object : undefined;
}
