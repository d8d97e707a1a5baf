/** What can be wrong with a directory, and what is left of it when a store cannot be opened there. */
import assert from 'node:assert/strict';
import {
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
  closeSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type ErrorCode, open, type OpenOptions } from '../../src/index.ts';
import { openFailure } from '../../src/store/birth.ts';
import { xxh64 } from '../../src/codec/checksum.ts';
import { coded, collect, listing, numbered, SMALL_WAL, StoreFolder, texts } from '../support/test-store.ts';

/** Names and sizes. Opening may look into files, and the manifest notes that it was opened. */
function contents(root: string): string[] {
  // An opening that ends in an error closes the manifest: its log grows by a block, and there is a mark of that.
  const kept = listing(root).filter((line) => !line.startsWith('manifest/LAST-CLOSE'));
  const lines = kept.map((line) => line.slice(0, line.lastIndexOf(' ')));
  return lines.map((line) => line.replace(/(\.log) \d+$/, '$1'));
}

test('a directory is made with its parents, and may be given relative, with dots or through a link', async (t) => {
  const folder = new StoreFolder(t);
  const deep = join(folder.parent, 'x', '..', 'x', 'y', 'z');
  const store = await open({ dir: deep, wal: SMALL_WAL });
  await (await store.stream('a')).append('x');
  await store.close();
  symlinkSync(join(folder.parent, 'x', 'y'), join(folder.parent, 'link'));
  const again = await open({ dir: join(folder.parent, 'link', 'z'), wal: SMALL_WAL });
  assert.deepEqual(await texts((await again.stream('a')).read()), ['x']);
  await again.close();
});

test('options that mean nothing are refused by name, and nothing is made', async (t) => {
  const { dir } = new StoreFolder(t);
  const wrong: [unknown, string][] = [
    [undefined, 'open'],
    [null, 'open'],
    [5, 'open'],
    [{}, 'dir'],
    ['', 'dir'],
    ['a\0b', 'dir'],
    [{ dir: 5 }, 'dir'],
    [{ dir, readonly: true }, 'readonly'],
    [{ dir, readOnly: 'yes' }, 'readOnly'],
    [{ dir, salvage: 1 }, 'salvage'],
    [{ dir, wal: 'off' }, 'wal'],
    [{ dir, wal: { slot: 3 } }, 'wal.slot'],
    [{ dir, wal: { flushInterval: 0 } }, 'wal.flushInterval'],
    [{ dir, wal: { maxQueuedBytes: -1 } }, 'wal.maxQueuedBytes'],
    [{ dir, maxRecordBytes: 0 }, 'maxRecordBytes'],
    [{ dir, maxRecordBytes: 2 ** 31 }, 'maxRecordBytes'],
    [{ dir, cacheBytes: 0.5 }, 'cacheBytes'],
    [{ dir, tracking: { budget: 2 } }, 'tracking.budget'],
    [{ dir, tracking: { maxIntervall: 2 } }, 'tracking.maxIntervall'],
    [{ dir, tracking: { maxInterval: NaN } }, 'tracking.maxInterval'],
  ];
  for (const [options, mention] of wrong) {
    await assert.rejects(open(options as OpenOptions), coded('ERR_MILLRACE_INVALID_ARGUMENT', mention));
    assert.ok(!existsSync(dir), JSON.stringify(options));
  }
});

test('a path that is a file, or leads through one, is refused and left alone', async (t) => {
  const folder = new StoreFolder(t);
  writeFileSync(folder.dir, 'precious');
  const refused = coded('ERR_MILLRACE_DIRECTORY_UNUSABLE', folder.dir, 'file');
  await assert.rejects(folder.open(), refused);
  const through = coded('ERR_MILLRACE_DIRECTORY_UNUSABLE', 'choose a directory');
  await assert.rejects(folder.open({ dir: join(folder.dir, 'below') }), through);
  await assert.rejects(folder.open({ readOnly: true }), through);
  assert.equal(readFileSync(folder.dir, 'utf8'), 'precious');
  assert.deepEqual(readdirSync(folder.parent), ['store']);
});

test('only where a part of a store is missing is a backup the remedy', () => {
  const missing = (syscall: string) => Object.assign(new Error('gone'), { code: 'ENOENT', syscall });
  assert.match(String(openFailure('/proc/nowhere/store', missing('mkdir'))), /: check the path$/);
  assert.match(String(openFailure('/data', missing('open'))), /restore it from a backup$/);
});

test('a directory with other files is refused and left alone', async (t) => {
  const folder = new StoreFolder(t);
  mkdirSync(folder.dir);
  writeFileSync(folder.path('thesis.tex'), 'precious');
  const before = listing(folder.dir);
  await assert.rejects(folder.open(), coded('ERR_MILLRACE_DIRECTORY_UNUSABLE', 'thesis.tex', 'empty directory'));
  assert.deepEqual(listing(folder.dir), before);
});

test('other files beside a store do not keep it from opening, and stay', async (t) => {
  const folder = new StoreFolder(t);
  await (await folder.open()).close();
  writeFileSync(folder.path('notes.txt'), 'mine');
  writeFileSync(folder.path('wal', 'notes.txt'), 'mine');
  await (await folder.open()).close();
  assert.equal(readFileSync(folder.path('notes.txt'), 'utf8'), 'mine');
  assert.equal(readFileSync(folder.path('wal', 'notes.txt'), 'utf8'), 'mine');
});

test('a birth that was cut short at any step is begun anew', async (t) => {
  const folder = new StoreFolder(t);
  await (await folder.open()).close();
  const complete = join(folder.parent, 'complete');
  renameSync(folder.dir, complete);
  const parts = ['LOCK', 'manifest', 'wal', 'objects'];
  for (let count = 0; count <= parts.length; count += 1) {
    mkdirSync(folder.dir);
    for (const part of parts.slice(0, count)) cpSync(join(complete, part), folder.path(part), { recursive: true });
    if (count === parts.length) writeFileSync(folder.path('STORE.tmp'), 'MRS');
    if (count >= 3) truncateSync(folder.path('wal', 'lane-000-slot-001.wal'), 5_000);
    if (count >= 3) writeFileSync(folder.path('wal', 'lane-000-slot-000.wal.tmp'), 'x');
    const store = await folder.open();
    assert.equal(await (await store.stream('a')).append('x'), 0);
    await store.close();
    assert.ok(!existsSync(folder.path('STORE.tmp')));
    assert.ok(!existsSync(folder.path('wal', 'lane-000-slot-000.wal.tmp')));
    rmSync(folder.dir, { recursive: true });
  }
});

test('a store whose identity was lost is refused, and nothing of it is touched', async (t) => {
  const states: Record<string, (folder: StoreFolder) => Promise<void>> = {
    'a stream and nothing else': async (folder) => {
      const store = await folder.open();
      await store.stream('a');
      await store.close();
    },
    'records in segments': async (folder) => {
      await storeWithRecords(folder);
      rmSync(folder.path('wal'), { recursive: true });
    },
    'records in flight': async (folder) => {
      await storeWithRecords(folder);
      rmSync(folder.path('objects'), { recursive: true });
      rmSync(folder.path('manifest'), { recursive: true });
    },
    'a manifest that lost its CURRENT': async (folder) => {
      await storeWithRecords(folder);
      for (const name of ['wal', 'objects', 'manifest/CURRENT']) rmSync(folder.path(name), { recursive: true });
    },
    'no WAL': async (folder) => {
      const store = await folder.open({ wal: false });
      await (await store.stream('a')).append('x');
      await store.close();
    },
  };
  for (const [state, arrange] of Object.entries(states)) {
    const folder = new StoreFolder(t);
    await arrange(folder);
    rmSync(folder.path('STORE'));
    const before = listing(folder.dir).filter((line) => !/^(\.|LOCK)/.test(line));
    for (const wal of [SMALL_WAL, false] as const) {
      const refused = coded('ERR_MILLRACE_MANIFEST_CORRUPT', 'STORE', 'backup');
      await assert.rejects(folder.open({ wal }), refused, state);
      assert.deepEqual(
        listing(folder.dir).filter((line) => !/^(\.|LOCK)/.test(line)),
        before,
        state,
      );
    }
  }
});

test('a store that is not there is not made by a reader', async (t) => {
  const folder = new StoreFolder(t);
  const refused = coded('ERR_MILLRACE_STORE_NOT_FOUND', folder.dir);
  await assert.rejects(folder.open({ readOnly: true }), refused);
  assert.ok(!existsSync(folder.dir));
  mkdirSync(folder.dir);
  await assert.rejects(folder.open({ readOnly: true }), refused);
  assert.deepEqual(readdirSync(folder.dir), []);
  rmSync(folder.dir, { recursive: true });
  writeFileSync(folder.dir, 'a file');
  await assert.rejects(folder.open({ readOnly: true }), coded('ERR_MILLRACE_DIRECTORY_UNUSABLE', folder.dir));
});

/** A store with records in segments and, as after a kill, in the WAL. */
async function storeWithRecords(folder: StoreFolder): Promise<void> {
  const store = await folder.open();
  const stream = await store.stream('a');
  await stream.appendMany(numbered(50));
  await store.flush();
  await stream.appendMany(numbered(50, 'record ', 50));
  cpSync(folder.dir, `${folder.dir} copy`, { recursive: true });
  await store.close();
  rmSync(folder.dir, { recursive: true });
  renameSync(`${folder.dir} copy`, folder.dir);
}

/** Changes bytes of a file and, at `checksumAt`, makes the checksum of all before it fit. */
function rewrite(path: string, change: (bytes: Buffer) => void, checksumAt?: number): void {
  const bytes = readFileSync(path);
  change(bytes);
  if (checksumAt !== undefined) bytes.writeBigUInt64LE(xxh64(bytes.subarray(0, checksumAt)), checksumAt);
  const file = openSync(path, 'r+');
  writeSync(file, bytes, 0, bytes.length, 0);
  closeSync(file);
}

const SLOT_0 = ['wal', 'lane-000-slot-000.wal'];

interface Harm {
  readonly does: (folder: StoreFolder) => void;
  readonly code: ErrorCode;
  readonly mentions: string;
  /** Whether a reader, which needs neither WAL nor lock, opens it. Default no. */
  readonly readable?: boolean;
}

const HARMS: Readonly<Record<string, Harm>> = {
  'STORE of a newer version': {
    does: (folder) => rewrite(folder.path('STORE'), (bytes) => bytes.writeUInt16LE(99, 4), 24),
    code: 'ERR_MILLRACE_FORMAT_TOO_NEW',
    mentions: 'STORE',
  },
  'STORE with a flipped bit': {
    does: (folder) => rewrite(folder.path('STORE'), (bytes) => bytes.writeUInt8((bytes[9] ?? 0) ^ 4, 9)),
    code: 'ERR_MILLRACE_MANIFEST_CORRUPT',
    mentions: 'STORE',
  },
  'STORE cut off': {
    does: (folder) => truncateSync(folder.path('STORE'), 20),
    code: 'ERR_MILLRACE_MANIFEST_CORRUPT',
    mentions: 'STORE',
  },
  'STORE empty': {
    does: (folder) => truncateSync(folder.path('STORE'), 0),
    code: 'ERR_MILLRACE_MANIFEST_CORRUPT',
    mentions: 'STORE',
  },
  'a WAL file of a newer version': {
    does: (folder) => rewrite(folder.path(...SLOT_0), (bytes) => bytes.writeUInt16LE(99, 4), 40),
    code: 'ERR_MILLRACE_FORMAT_TOO_NEW',
    mentions: 'slot-000',
    readable: true,
  },
  'no WAL file of that name': {
    does: (folder) => rmSync(folder.path(...SLOT_0)),
    code: 'ERR_MILLRACE_WAL_CORRUPT',
    mentions: 'slot-000',
    readable: true,
  },
  'an empty WAL file': {
    does: (folder) => truncateSync(folder.path(...SLOT_0), 0),
    code: 'ERR_MILLRACE_WAL_CORRUPT',
    mentions: 'slot-000',
    readable: true,
  },
  'a WAL file shorter than its header': {
    does: (folder) => truncateSync(folder.path(...SLOT_0), 30),
    code: 'ERR_MILLRACE_WAL_CORRUPT',
    mentions: 'slot-000',
    readable: true,
  },
  'a WAL file cut off': {
    does: (folder) => truncateSync(folder.path(...SLOT_0), 20_000),
    code: 'ERR_MILLRACE_WAL_CORRUPT',
    mentions: 'slot-000',
    readable: true,
  },
  'the other slot in the place of a WAL file': {
    does: (folder) => cpSync(folder.path('wal', 'lane-000-slot-001.wal'), folder.path(...SLOT_0)),
    code: 'ERR_MILLRACE_WAL_CORRUPT',
    mentions: 'slot-000',
    readable: true,
  },
  'a directory in the place of a WAL file': {
    does: (folder) => {
      rmSync(folder.path(...SLOT_0));
      mkdirSync(folder.path(...SLOT_0));
    },
    code: 'ERR_MILLRACE_WAL_CORRUPT',
    mentions: 'slot-000',
    readable: true,
  },
  'no folder of WAL files': {
    does: (folder) => rmSync(folder.path('wal'), { recursive: true }),
    code: 'ERR_MILLRACE_DIRECTORY_UNUSABLE',
    mentions: 'wal',
    readable: true,
  },
  'no manifest': {
    does: (folder) => rmSync(folder.path('manifest'), { recursive: true }),
    code: 'ERR_MILLRACE_MANIFEST_CORRUPT',
    mentions: 'manifest',
  },
  'an empty folder of the manifest': {
    does: (folder) => {
      for (const name of readdirSync(folder.path('manifest'))) rmSync(folder.path('manifest', name));
    },
    code: 'ERR_MILLRACE_MANIFEST_CORRUPT',
    mentions: 'manifest',
  },
  'empty files of the manifest': {
    does: (folder) => {
      for (const name of readdirSync(folder.path('manifest'))) truncateSync(folder.path('manifest', name), 0);
    },
    code: 'ERR_MILLRACE_MANIFEST_CORRUPT',
    mentions: 'manifest',
  },
};

for (const [what, { does, code, mentions, readable = false }] of Object.entries(HARMS)) {
  test(`${what}: opening names it and changes nothing`, async (t) => {
    const folder = new StoreFolder(t);
    await storeWithRecords(folder);
    const backup = join(folder.parent, 'backup');
    cpSync(folder.dir, backup, { recursive: true });
    does(folder);
    const before = contents(folder.dir);
    for (let attempt = 0; attempt < 2; attempt += 1) {
      await assert.rejects(folder.open(), coded(code, mentions, folder.dir));
      assert.deepEqual(contents(folder.dir), before);
    }
    if (readable) {
      const reader = await folder.open({ readOnly: true });
      assert.deepEqual(await texts((await reader.stream('a')).read()), numbered(50));
      await reader.close();
    } else {
      await assert.rejects(folder.open({ readOnly: true }), coded(code, mentions));
    }
    rmSync(folder.dir, { recursive: true });
    renameSync(backup, folder.dir);
    const store = await folder.open();
    assert.deepEqual(await texts((await store.stream('a')).read()), numbered(100));
  });
}

test('files of another store are known for what they are', async (t) => {
  const folder = new StoreFolder(t);
  const other = new StoreFolder(t);
  await storeWithRecords(folder);
  await storeWithRecords(other);
  for (const part of [SLOT_0, ['wal'], ['manifest'], ['STORE']]) {
    const aside = join(folder.parent, 'aside');
    renameSync(folder.path(...part), aside);
    cpSync(other.path(...part), folder.path(...part), { recursive: true });
    const before = contents(folder.dir);
    await assert.rejects(folder.open(), coded('ERR_MILLRACE_FOREIGN_FILE', folder.dir));
    assert.deepEqual(contents(folder.dir), before);
    rmSync(folder.path(...part), { recursive: true });
    renameSync(aside, folder.path(...part));
  }
  assert.equal((await collect((await (await folder.open()).stream('a')).read())).length, 100);
});

test('a missing or damaged segment is an error of the read that meets it, and of verify, not of opening', async (t) => {
  const folder = new StoreFolder(t);
  await storeWithRecords(folder);
  const names = readdirSync(folder.path('objects'), { recursive: true, encoding: 'utf8' });
  const path = folder.path('objects', names.find((name) => name.endsWith('.seg')) ?? 'no segment');
  const bytes = readFileSync(path);
  const cases: [() => void, ErrorCode][] = [
    [() => rewrite(path, (content) => content.fill(0xff, 100, 200)), 'ERR_MILLRACE_SEGMENT_CORRUPT'],
    [() => truncateSync(path, 100), 'ERR_MILLRACE_SEGMENT_CORRUPT'],
    [() => rmSync(path), 'ERR_MILLRACE_OBJECT_NOT_FOUND'],
  ];
  for (const [harm, code] of cases) {
    harm();
    const store = await folder.open();
    const stream = await store.stream('a');
    await assert.rejects(collect(stream.read()), coded(code));
    await assert.rejects(stream.get(3), coded(code));
    assert.deepEqual(await texts(stream.read({ from: 50 })), numbered(50, 'record ', 50));
    assert.ok((await store.verify()).problems.length > 0);
    await store.close();
    writeFileSync(path, bytes);
  }
  const store = await folder.open();
  assert.deepEqual(await texts((await store.stream('a')).read()), numbered(100));
  assert.deepEqual((await store.verify()).problems, []);
});
