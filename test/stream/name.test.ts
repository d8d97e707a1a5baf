import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { coded, openStore, StoreFolder } from '../support/test-store.ts';

const WRONG: readonly [string, unknown][] = [
  ['empty', ''],
  ['a slash', 'a/b'],
  ['a backslash', 'a\\b'],
  ['this directory', '.'],
  ['the parent directory', '..'],
  ['a path upwards', '../../etc/passwd'],
  ['NUL', 'a\0b'],
  ['a line feed', 'a\nb'],
  ['DEL', 'a\u007fb'],
  ['a C1 control', 'a\u0085b'],
  ['a lone high surrogate', 'a\ud800'],
  ['a lone low surrogate', '\udc00a'],
  ['256 bytes', 'x'.repeat(256)],
  ['256 bytes in 64 characters', '\u{1f33e}'.repeat(64)],
  ['64 KiB of emoji', '\u{1f33e}'.repeat(16_384)],
  ['undefined', undefined],
  ['null', null],
  ['a number', 5],
  ['an object', {}],
];

test('names that streams may not have are refused, and nothing is made', async (t) => {
  const store = await openStore(t);
  for (const [what, name] of WRONG) {
    const refused = coded('ERR_MILLRACE_INVALID_STREAM_NAME');
    await assert.rejects(store.stream(name as string), refused, what);
    await assert.rejects(store.deleteStream(name as string), refused, what);
  }
  assert.deepEqual(await store.streams(), []);
});

test('the message of a refused name stays short however long the name is', async (t) => {
  const store = await openStore(t);
  await assert.rejects(store.stream('\u{1f33e}'.repeat(16_384)), (error: Error) => error.message.length < 500);
});

test('every other name works, is a stream of its own, and survives a reopening', async (t) => {
  const names = [
    'a',
    'A',
    ' ',
    'a b',
    'x'.repeat(255),
    '\u{1f33e}'.repeat(63),
    '\u00e9',
    'e\u0301',
    '__proto__',
    'constructor',
    'toString',
    '...',
    'con',
    'a:b*c?<>|"',
    '\u200f\u202e',
    '%2e%2e%2f',
    '~',
    '-rf',
  ];
  const folder = new StoreFolder(t);
  const store = await folder.open();
  for (const name of names) assert.equal(await (await store.stream(name)).append(name), 0);
  await store.close();
  const again = await folder.open();
  assert.deepEqual((await again.streams()).map(({ name }) => name).sort(), [...names].sort());
  for (const name of names) {
    const stream = await again.stream(name);
    assert.equal(stream.name, name);
    assert.equal((await stream.get(0))?.value?.toString(), name);
    assert.equal((await stream.info()).nextOffset, 1);
  }
});

test('any text either is a usable name or is refused with its code', async (t) => {
  const store = await openStore(t);
  const property = fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 300 }), async (name) => {
    try {
      assert.equal((await store.stream(name)).name, name);
      assert.ok((await store.streams()).some((stream) => stream.name === name));
    } catch (error) {
      coded('ERR_MILLRACE_INVALID_STREAM_NAME')(error);
      assert.ok(name === '' || /[/\\\p{Cc}\p{Cs}]|^\.\.?$/u.test(name) || Buffer.byteLength(name) > 255);
    }
  });
  await fc.assert(property, { numRuns: 60 });
});

test('references that nobody may have are refused where they are used', async (t) => {
  const stream = await (await openStore(t)).stream('a');
  await stream.append('x');
  for (const reference of ['', 'a\0', 'x\ud800', 'r'.repeat(256), '\u{1f33e}'.repeat(16_384), 5, undefined]) {
    const refused = coded('ERR_MILLRACE_INVALID_REFERENCE');
    await assert.rejects(stream.storeOffset(reference as string, 0), refused);
    await assert.rejects(stream.queryOffset(reference as string), refused);
    await assert.rejects(stream.deleteOffset(reference as string), refused);
    assert.throws(() => stream.publisher(reference as string), refused);
  }
});
