/** Stores in a directory whose objects are in another place. */
import assert from 'node:assert/strict';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { CliHost, runCli, succeed } from './cli-process.ts';
import { storeWith, withStore } from './store-fixture.ts';

const host = new CliHost();
after(() => {
  host.end();
});

test('objects move to another place when they are copied, and not before', async () => {
  const fixture = await storeWith({ values: ['one', 'two'] });
  try {
    const { store } = fixture;
    const own = join(store, 'objects');
    const place = join(fixture.path, 'place');
    const open = withStore({ dir: store, objects: place }, async () => undefined);
    await assert.rejects(open, {
      code: 'ERR_MILLRACE_OBJECT_NOT_FOUND',
      message: /copy what is below .*objects there/,
    });
    assert.equal(await host.succeed(['read', store, 'values']), 'one\ntwo\n');

    cpSync(own, place, { recursive: true });
    await succeed(['ingest', store, 'values', '--objects', place], 'three\n');
    rmSync(own, { recursive: true });
    assert.equal(await host.succeed(['read', store, 'values', '--objects', place]), 'one\ntwo\nthree\n');
    assert.match(await host.succeed(['verify', store, '--objects', place]), /^intact: 3 records/);

    const lost = await host.run(['read', store, 'values']);
    assert.equal(lost.code, 1);
    assert.match(lost.stderr, /ERR_MILLRACE_OBJECT_NOT_FOUND: .*name with --objects the place/);
  } finally {
    fixture.remove();
  }
});

test('every command that reads or writes records takes the place of the objects', async () => {
  const fixture = await storeWith({});
  try {
    const { store } = fixture;
    const place = join(fixture.path, 'place');
    const elsewhere = ['--objects', place];
    await succeed(['ingest', store, 'values', ...elsewhere], 'one\ntwo\nthree\n');
    for (const command of [
      ['ingest', store, 'values'],
      ['trim', store, 'values', '1'],
      ['configure', store, 'values', '--max-bytes', '1000'],
      ['offsets', store, 'values', '--set', 'billing=1'],
      ['recover', store],
    ]) {
      const refused = await runCli(command, command[0] === 'ingest' ? 'four\n' : undefined);
      assert.equal(refused.code, 1);
      assert.match(refused.stderr, /ERR_MILLRACE_OBJECT_NOT_FOUND: .*--objects/, command.join(' '));
      await succeed([...command, ...elsewhere], command[0] === 'ingest' ? 'four\n' : undefined);
    }
    const target = join(fixture.path, 'target');
    assert.match(await host.succeed(['backup', store, target, ...elsewhere]), /^backup 1: 3 records of 1 stream/);
    const copy = join(fixture.path, 'copy');
    const there = join(fixture.path, 'there');
    await host.succeed(['restore', target, copy, '--objects', there]);
    assert.equal(await host.succeed(['read', copy, 'values', '--from', '1', '--objects', there]), 'two\nthree\nfour\n');
  } finally {
    fixture.remove();
  }
});
