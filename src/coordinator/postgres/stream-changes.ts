/** Changes of streams and of what they keep. */
import { MillraceError } from '../../errors/millrace-error.ts';
import type { StreamConfig, StreamDescription } from '../../record/stream-config.ts';
import {
  configureStream,
  createStream,
  deleteStream,
  trimStream,
  truncateStream,
} from '../commands/stream-commands.ts';
import type { Trimmed, Truncation } from '../coordinator.ts';
import { change } from './change.ts';
import type { Database } from './database.ts';
import { FAR, type Loader } from './loader.ts';
import { isStorable } from './records.ts';
import { lastPositionUpTo, loadTail, stepTowards } from './stream-places.ts';

export async function makeStream(
  database: Database,
  name: string,
  config: StreamConfig,
): Promise<{ stream: StreamDescription; created: boolean }> {
  if (!isStorable(name)) throw unstorable();
  return change(
    database,
    async (loader) => {
      if (await loadByName(loader, name)) return;
      // Whoever has this lock is the only one to make streams: looking again is enough to keep names unique.
      await loader.lockCounter('stream');
      await loadByName(loader, name);
    },
    (state) => createStream(state, name, config),
  );
}

function unstorable(): MillraceError {
  return new MillraceError(
    'ERR_MILLRACE_INVALID_STREAM_NAME',
    'a stream name in PostgreSQL is well-formed text without U+0000',
  );
}

async function loadByName(loader: Loader, name: string): Promise<boolean> {
  const text = `SELECT stream_id FROM ${loader.tables.streams} WHERE name = $1`;
  const [row] = await loader.session.rows<{ stream_id: number }>(text, [name]);
  if (row !== undefined) await loader.readStreams([row.stream_id]);
  return row !== undefined;
}

export function configure(database: Database, streamId: number, config: StreamConfig): Promise<StreamDescription> {
  return change(
    database,
    (loader) => loader.lockStreams([streamId]),
    (state) => configureStream(state, streamId, config),
  );
}

export function removeStream(database: Database, streamId: number): Promise<boolean> {
  return change(
    database,
    async (loader) => {
      await loader.lockStreams([streamId]);
      if (!loader.excerpt.lockedStreams.has(streamId)) return;
      await loader.loadList(streamId, 0, FAR);
      await loader.lockObjects(loader.excerpt.objectNumbers());
    },
    (state) => deleteStream(state, streamId),
  );
}

/** A long trim goes in steps that each keep other writers waiting for a moment only. */
export async function trim(database: Database, streamId: number, beforeOffset: number): Promise<Trimmed> {
  let runs = 0;
  let bytes = 0;
  for (;;) {
    let target = beforeOffset;
    const trimmed = await change(
      database,
      async (loader) => {
        await loader.lockStreams([streamId]);
        target = await stepTowards(loader, streamId, beforeOffset);
        await loadFront(loader, streamId, target);
      },
      (state) => trimStream(state, streamId, target),
    );
    runs += trimmed.runs;
    bytes += trimmed.bytes;
    if (target === beforeOffset) return { firstOffset: trimmed.firstOffset, runs, bytes };
  }
}

async function loadFront(loader: Loader, streamId: number, target: number): Promise<void> {
  if (!loader.excerpt.lockedStreams.has(streamId) || !Number.isSafeInteger(target)) return;
  await loader.loadList(streamId, 0, await lastPositionUpTo(loader, streamId, target));
  await loader.lockObjects(loader.excerpt.objectNumbers());
}

export function truncate(database: Database, truncation: Truncation): Promise<void> {
  return change(
    database,
    async (loader) => {
      await loader.lockStreams([truncation.streamId]);
      await loadTail(loader, truncation.streamId, truncation.nextOffset);
      await loader.lockObjects(loader.excerpt.objectNumbers());
    },
    (state) => truncateStream(state, truncation),
  );
}
