/** Names from outside: of streams, which live in the manifest, and of objects, which become paths and requests. */
import assert from 'node:assert/strict';
import { resolve, sep } from 'node:path';
import { isMillraceError } from '../../src/errors/millrace-error.ts';
import { ByteReader } from '../../src/coordinator/manifest/byte-reader.ts';
import { ByteWriter } from '../../src/coordinator/manifest/byte-writer.ts';
import { FolderTree } from '../../src/object/folder-tree.ts';
import { checkReference } from '../../src/stream/reference.ts';
import { checkStreamName } from '../../src/stream/name.ts';
import { ReadOnlyFiles } from '../bits/read-only-files.ts';
import type { Target } from './target.ts';

const OBJECTS = resolve('/', 'store', 'objects');

const NAMES = [
  'orders',
  '../../etc/passwd',
  '..',
  '.',
  '',
  '/absolute',
  'C:\\windows',
  'CON',
  'a%2f..%2fb',
  'ünïcödé',
  'u\u0308',
  '\ud800',
  'nul\0byte',
  'line\nbreak',
  '名前'.repeat(50),
  'x'.repeat(256),
  '\u202egnp.exe',
  '😀'.repeat(63),
  'segments/0000000000000001-000000000001.seg',
  'segments/../../../outside.seg',
];

/** Refused with the code of names, or written and read back as it was. */
function roundTrip(name: string, check: (name: string) => void, code: string): void {
  try {
    check(name);
  } catch (error) {
    assert.ok(isMillraceError(error) && error.code === code, String(error));
    return;
  }
  const writer = new ByteWriter();
  writer.text(name);
  assert.equal(new ByteReader(writer.take(0).slice()).text(255), name, 'a name that was taken comes back');
}

/** A path below the folder of objects, or a refusal. */
function staysInside(folders: FolderTree, key: string): void {
  let path: string;
  try {
    path = folders.locate(key);
  } catch (error) {
    assert.ok(isMillraceError(error, 'ERR_MILLRACE_INVALID_ARGUMENT'), String(error));
    return;
  }
  assert.ok(resolve(path).startsWith(OBJECTS + sep), `${path} lies outside`);
}

export const nameTarget: Target = {
  name: 'names',
  // Two bytes a character: every string there is, lone surrogates too.
  samples: NAMES.map((name) => new Uint8Array(Buffer.from(name, 'utf16le'))),
  fieldsOf: (bytes) => Array.from({ length: bytes.length / 2 }, (_, index) => ({ at: 2 * index, bytes: 2 })),
  repair: () => undefined,
  run: (bytes) => {
    const name = Buffer.from(bytes).toString('utf16le');
    roundTrip(name, checkStreamName, 'ERR_MILLRACE_INVALID_STREAM_NAME');
    roundTrip(name, checkReference, 'ERR_MILLRACE_INVALID_REFERENCE');
    const folders = new FolderTree(new ReadOnlyFiles(), OBJECTS);
    staysInside(folders, name);
    staysInside(folders, name.toLowerCase().replaceAll(/[^0-9a-z/.-]/g, '.'));
  },
};
