/** A file of a newer format is refused by name, with what to do about it, and stays as it is. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, suite, test, type TestContext } from 'node:test';
import { viewOf } from '../../src/base/bytes.ts';
import { loadChecksum, xxh64 } from '../../src/codec/checksum.ts';
import {
  BLOCK_CHECKED_FROM,
  BLOCK_FIELD,
  BLOCK_HEADER_BYTES,
  blockSeed,
} from '../../src/coordinator/manifest/format.ts';
import { open, type OpenOptions } from '../../src/index.ts';
import * as ringBlock from '../../src/ring/block-format.ts';
import { SLOT_CHECKED_BYTES } from '../../src/wal/slot-format.ts';
import { repairFooter } from '../segment/fixture.ts';
import { FOOTER_FIELD, TAIL_BYTES, TAIL_FIELD } from '../../src/segment/format.ts';
import { coded, collect } from '../support/test-store.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { contentOfStore } from './content.ts';
import { copyGolden, filesBelow, goldenContent } from './fixtures.ts';

const NEWER = 2;
/** Where a golden store has a segment's first chunk, and a block that is in flight. */
const FIRST_CHUNK = 64;
const BLOCK_IN_FLIGHT = 4_096;

interface NewerFile {
  readonly what: string;
  readonly store: 'clean' | 'killed';
  /** Ending of the file's name. */
  readonly file: string;
  /** Makes the bytes those of a newer version, with checksums that hold. */
  readonly age: (bytes: Uint8Array) => void;
  /** What meets the file: opening it, unless told otherwise. */
  readonly use?: (dir: string) => Promise<unknown>;
}

function ageManifestBlock(bytes: Uint8Array): void {
  const view = viewOf(bytes);
  view.setUint16(BLOCK_FIELD.version, NEWER, true);
  const end = BLOCK_HEADER_BYTES + view.getUint32(BLOCK_FIELD.payloadBytes, true);
  view.setBigUint64(BLOCK_FIELD.checksum, xxh64(bytes.subarray(BLOCK_CHECKED_FROM, end), blockSeed(0)), true);
}

function ageWalBlock(bytes: Uint8Array): void {
  const view = viewOf(bytes);
  const at = BLOCK_IN_FLIGHT;
  view.setUint16(at + 12, NEWER, true);
  const { slotSequence, writeStart } = ringBlock.readBlockHeader(view, at);
  const seed = ringBlock.blockSeed(slotSequence, at);
  ringBlock.sealBlock(view, at, writeStart, (from, to) => xxh64(bytes.subarray(from, to), seed));
}

function footerPosition(bytes: Uint8Array): number {
  return viewOf(bytes).getUint32(bytes.length - TAIL_BYTES + TAIL_FIELD.footerPosition, true);
}

async function opening(dir: string, options: Partial<OpenOptions> = {}): Promise<void> {
  const store = await open({ dir, compaction: false, ...options });
  await store.close();
}

/** Uses a store that opens. */
async function reading(
  dir: string,
  read: (store: Awaited<ReturnType<typeof open>>) => Promise<unknown>,
): Promise<void> {
  const store = await open({ dir, readOnly: true });
  try {
    await read(store);
  } finally {
    await store.close();
  }
}

const scan = (dir: string): Promise<void> =>
  reading(dir, async (store) => collect((await store.stream('orders')).read()));
const get = (dir: string): Promise<void> => reading(dir, async (store) => (await store.stream('orders')).get(5));

const FILES: readonly NewerFile[] = [
  {
    what: 'identity',
    store: 'clean',
    file: 'STORE',
    age: (bytes) => {
      viewOf(bytes).setUint16(4, NEWER, true);
      viewOf(bytes).setBigUint64(24, xxh64(bytes.subarray(0, 24)), true);
    },
  },
  {
    what: 'slot file',
    store: 'killed',
    file: 'lane-000-slot-000.wal',
    age: (bytes) => {
      viewOf(bytes).setUint16(4, NEWER, true);
      viewOf(bytes).setBigUint64(SLOT_CHECKED_BYTES, xxh64(bytes.subarray(0, SLOT_CHECKED_BYTES)), true);
    },
  },
  { what: 'block in flight', store: 'killed', file: 'lane-000-slot-000.wal', age: ageWalBlock },
  {
    what: 'slot file, also to a salvage',
    store: 'killed',
    file: 'lane-000-slot-000.wal',
    age: ageWalBlock,
    use: (dir) => opening(dir, { salvage: true }),
  },
  { what: 'CURRENT', store: 'clean', file: 'CURRENT', age: ageManifestBlock },
  { what: 'snapshot', store: 'clean', file: '0000000000000001.snapshot', age: ageManifestBlock },
  { what: 'manifest log', store: 'clean', file: '0000000000000001.log', age: ageManifestBlock },
  {
    what: 'chunk',
    store: 'clean',
    file: '.seg',
    age: (bytes) => {
      viewOf(bytes).setUint16(FIRST_CHUNK + 12, NEWER, true);
    },
    use: scan,
  },
  {
    what: 'footer',
    store: 'clean',
    file: '.seg',
    age: (bytes) => {
      viewOf(bytes).setUint16(footerPosition(bytes) + FOOTER_FIELD.version, NEWER, true);
      repairFooter(bytes, footerPosition(bytes));
    },
    use: get,
  },
  {
    what: 'tail',
    store: 'clean',
    file: '.seg',
    age: (bytes) => {
      viewOf(bytes).setUint16(bytes.length - TAIL_BYTES + TAIL_FIELD.version, NEWER, true);
    },
    use: get,
  },
];

function aged(t: TestContext, { store, file, age }: Pick<NewerFile, 'store' | 'file' | 'age'>): [string, string] {
  const directory = temporaryDirectory();
  t.after(() => directory.remove());
  const dir = join(directory.path, 'store');
  copyGolden(store, dir);
  const [name] = filesBelow(dir).filter((each) => each.endsWith(file));
  assert.ok(name !== undefined);
  const bytes = readFileSync(join(dir, name));
  age(bytes);
  writeFileSync(join(dir, name), bytes);
  return [dir, name];
}

suite('a newer format', () => {
  before(loadChecksum);

  for (const newer of FILES) {
    test(`is refused: ${newer.what}`, async (t) => {
      const [dir, name] = aged(t, newer);
      const bytes = readFileSync(join(dir, name));
      const refused = coded('ERR_MILLRACE_FORMAT_TOO_NEW', name.replace(/^objects\//, ''), /newer|upgrade/);
      await assert.rejects((newer.use ?? opening)(dir), refused);
      assert.deepEqual(readFileSync(join(dir, name)), bytes);
    });
  }

  test('of a clean mark costs the reading of the log, and nothing else', async (t) => {
    const [dir] = aged(t, {
      store: 'clean',
      file: '.clean',
      age: (bytes) => {
        viewOf(bytes).setUint16(4, NEWER, true);
        viewOf(bytes).setBigUint64(56, xxh64(bytes.subarray(0, 56)), true);
      },
    });
    assert.deepEqual(JSON.parse(JSON.stringify(await contentOfStore(dir))), goldenContent('clean'));
  });

  test('of a segment header is told by verify', async (t) => {
    const [dir] = aged(t, {
      store: 'clean',
      file: '.seg',
      age: (bytes) => {
        viewOf(bytes).setUint16(12, NEWER, true);
        viewOf(bytes).setBigUint64(0, xxh64(bytes.subarray(8, 64)), true);
      },
    });
    await reading(dir, async (store) => {
      const { problems } = await store.verify();
      assert.equal(problems.length, 1);
      assert.match(problems[0]?.problem ?? '', /version 2/);
    });
  });
});
