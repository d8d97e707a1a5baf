/**
 * A whole store, opened from a directory as users open it, with one damaged file: whatever is read is what was written,
 * and what lies in other files is all there.
 */
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMillraceError, open, type Store, type VerifyProblem } from '../../src/index.ts';
import type { StreamContent } from '../golden/content.ts';
import { copyGolden, filesBelow, goldenContent, goldenPath } from '../golden/fixtures.ts';
import { collect } from '../support/test-store.ts';
import { goldenFile } from './golden-files.ts';
import { assertReported, type Subject } from './subject.ts';

export interface WholeStoreSubject extends Subject {
  /** As `check`, with no file in its place. */
  readonly checkMissing: () => Promise<void>;
}

type GoldenRecord = StreamContent['records'][number];

interface Damaged {
  readonly dir: string;
  readonly golden: readonly StreamContent[];
  readonly file: string;
  readonly intact: Uint8Array;
}

function recordOf(record: {
  offset: number;
  timestamp: number;
  key: Buffer | null;
  value: Buffer | null;
}): GoldenRecord {
  const { offset, timestamp, key, value } = record;
  return [offset, timestamp, key?.toString('latin1') ?? null, value?.toString('latin1') ?? null];
}

/** The records of a stream, `undefined` when reading them reports damage. */
async function tried<T>(read: () => Promise<T>, place: string): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    // An object that is gone is no damage of bytes, and has its own code.
    if (!isMillraceError(error, 'ERR_MILLRACE_OBJECT_NOT_FOUND')) assertReported(error, place);
    return undefined;
  }
}

async function checkStream(store: Store, golden: StreamContent, lost: readonly VerifyProblem[]): Promise<void> {
  const stream = await store.stream(golden.name);
  const held = lost.flatMap((problem) => problem.held ?? []).filter((range) => range.stream === golden.name);
  const isHeld = (offset: number): boolean =>
    held.some(({ firstOffset, nextOffset }) => offset >= firstOffset && offset < nextOffset);
  const scanned = await tried(async () => (await collect(stream.read())).map(recordOf), '');
  if (scanned === undefined) assert.ok(held.length > 0, `${golden.name} was not read, and nothing of it is lost`);
  else assert.deepEqual(scanned, golden.records, golden.name);
  for (const expected of golden.records) {
    const found = await tried(async () => {
      const record = await stream.get(expected[0]);
      return record === undefined ? null : recordOf(record);
    }, '');
    if (found === undefined) assert.ok(isHeld(expected[0]), `offset ${expected[0]} of ${golden.name} lies elsewhere`);
    else assert.deepEqual(found, expected);
  }
  const consumers = await tried(() => stream.offsets(), '');
  if (consumers === undefined) assert.ok(held.length > 0 || lost.length > 0);
  else
    assert.deepEqual(
      consumers.map(({ reference, offset }) => [reference, offset]),
      golden.consumers,
    );
}

async function use({ dir, golden, file, intact }: Damaged, damaged: Uint8Array | undefined): Promise<void> {
  let store: Store;
  try {
    store = await open({ dir, readOnly: true });
  } catch (error) {
    // Without an identity there is no store, and without its manifest it has nothing.
    if (damaged === undefined && isMillraceError(error, 'ERR_MILLRACE_STORE_NOT_FOUND')) return;
    assertReported(error, dir);
    return;
  }
  try {
    const changed = damaged === undefined || Buffer.compare(damaged, intact) !== 0;
    const { problems } = await store.verify();
    const key = file.replace(/^objects\//, '');
    const isObject = file.startsWith('objects/');
    assert.equal(problems.length > 0, isObject && changed, JSON.stringify(problems));
    for (const problem of problems) assert.equal(problem.where, key);
    assert.deepEqual(
      (await store.streams()).map(({ name }) => name),
      golden.map(({ name }) => name),
    );
    for (const stream of golden) await checkStream(store, stream, problems);
  } finally {
    await store.close();
  }
}

/** Every file of the stores that were closed, which need no writer to be read. Copies them below `dir`. */
export function wholeStoreSubjects(dir: string): WholeStoreSubject[] {
  return ['clean', 'compacted', 'diskless'].flatMap((store) => {
    const copy = join(dir, store);
    copyGolden(store, copy);
    const golden = goldenContent(store) as StreamContent[];
    const files = filesBelow(goldenPath(store)).filter((file) => !file.startsWith('wal/'));
    return files.map((file): WholeStoreSubject => {
      const path = join(copy, file);
      const intact = goldenFile(store, file);
      const kind = file.split('.').at(-1) ?? '';
      const donors = files.filter((other) => other !== file && other.endsWith(kind));
      const run = async (damaged: Uint8Array | undefined): Promise<void> => {
        if (damaged === undefined) rmSync(path);
        else writeFileSync(path, damaged);
        try {
          await use({ dir: copy, golden, file, intact }, damaged);
        } finally {
          writeFileSync(path, intact);
        }
      };
      return {
        name: `whole ${store}/${file}`,
        bytes: intact,
        donors: donors.map((donor) => goldenFile(store, donor)),
        check: (damaged) => run(damaged),
        checkMissing: () => run(undefined),
      };
    });
  });
}
