import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { CliHost } from './cli-process.ts';
import { filesOf, firstFileOf, flipByte } from './damage.ts';
import { startWriter, storeWith } from './store-fixture.ts';

type Dump = Readonly<Record<string, unknown>> & { readonly kind: string; readonly problems: readonly string[] };

const host = new CliHost();
after(() => {
  host.end();
});

async function dumpOf(file: string, ...options: readonly string[]): Promise<Dump> {
  return JSON.parse(await host.succeed(['dump', file, '--json', ...options])) as Dump;
}

suite('dump', () => {
  test('every file of a store is recognized and sound, for programs and for people', async () => {
    const fixture = await storeWith({ values: ['a', 'b'], others: ['c'] });
    const { storeId } = await dumpOf(join(fixture.store, 'STORE'));
    for (const [ending, kind] of [
      ['STORE', 'store identity'],
      ['.wal', 'WAL slot'],
      ['.clean', 'clean mark'],
      ['.seg', 'segment'],
      ['CURRENT', 'manifest'],
      ['.snapshot', 'manifest'],
      ['.log', 'manifest'],
    ] as const) {
      for (const file of filesOf(fixture.store, ending)) {
        const dump = await dumpOf(file);
        assert.deepEqual([dump.kind, dump['storeId'], dump.problems], [kind, storeId, []], file);
        assert.match(await host.succeed(['dump', file]), new RegExp(`^kind +${kind}$`, 'm'));
      }
    }
    fixture.remove();
  });

  test('a segment shows its runs and chunks', async () => {
    const fixture = await storeWith({ values: ['abc', 'de'] });
    const dump = await dumpOf(firstFileOf(fixture.store, '.seg'));
    const [run] = dump['runs'] as { records: number; userBytes: number }[];
    const [chunk] = dump['chunks'] as { records: number; type: string }[];
    assert.deepEqual([run?.records, run?.userBytes, chunk?.records, chunk?.type], [2, 5, 2, 'records']);
    fixture.remove();
  });

  test('the manifest log shows what happened', async () => {
    const fixture = await storeWith({ values: ['a'] });
    const blocks = (await dumpOf(firstFileOf(fixture.store, '.log')))['blocks'] as { entries: { type: string }[] }[];
    const types = blocks.flatMap(({ entries }) => entries.map(({ type }) => type));
    assert.deepEqual(
      types.filter((type) => type === 'streamCreated' || type === 'objectCommitted'),
      ['streamCreated', 'objectCommitted'],
    );
    assert.match(
      await host.succeed(['dump', firstFileOf(fixture.store, '.log')]),
      /streamCreated +streamId=1 name="values"/,
    );
    fixture.remove();
  });

  test('a slot shows its blocks, and with --frames the frames in them', async () => {
    const fixture = await storeWith({});
    const writer = await startWriter(fixture.store, 'values', 0, 7);
    await writer.kill();
    const slots = await Promise.all(filesOf(fixture.store, '.wal').map((file) => dumpOf(file, '--frames')));
    const blocks = slots.flatMap((slot) => slot['blocks'] as { records: number; frames: { kindName: string }[] }[]);
    assert.equal(
      blocks.reduce((sum, { records }) => sum + records, 0),
      7,
    );
    assert.ok(blocks.some(({ frames }) => frames.some(({ kindName }) => kindName === 'records')));
    fixture.remove();
  });

  test('damage is named, the rest is shown, and the exit code is 1', async () => {
    for (const [ending, position] of [
      ['STORE', 10],
      ['.wal', 41],
      ['.clean', 30],
      ['.seg', 200],
      ['.seg', 20],
      ['CURRENT', 40],
      ['.snapshot', 50],
      ['.log', 80],
    ] as const) {
      const fixture = await storeWith({ values: ['a'.repeat(500)] });
      const file = firstFileOf(fixture.store, ending);
      flipByte(file, position);
      const { code, stdout, stderr } = await host.run(['dump', file, '--json']);
      assert.deepEqual({ code, stderr }, { code: 1, stderr: '' }, `${ending} at ${position}`);
      const { problems } = JSON.parse(stdout) as Dump;
      assert.equal(problems.length, 1, `${ending} at ${position}: ${problems.join()}`);
      assert.match((await host.run(['dump', file])).stdout, /^damaged: /m);
      fixture.remove();
    }
  });

  test('the clean mark shows where the log goes on', async () => {
    const fixture = await storeWith({ values: ['a'] });
    const mark = firstFileOf(fixture.store, '.clean');
    const { start, flushed } = (await dumpOf(mark)) as unknown as Record<'start' | 'flushed', Record<string, number>>;
    assert.deepEqual([start['slotSequence'], flushed['slotSequence']], [1, 0]);
    assert.match(await host.succeed(['dump', mark]), /^goes on with slot sequence +1$/m);
    appendFileSync(mark, 'x');
    const { code, stdout } = await host.run(['dump', mark]);
    assert.equal(code, 1);
    assert.match(stdout, /^damaged: \d+ bytes, where the file has \d+$/m);
    fixture.remove();
  });

  test('the lock file has nothing to show, whatever is in it', async () => {
    const fixture = await storeWith({});
    const lock = firstFileOf(fixture.store, 'LOCK');
    const { code, stderr } = await host.run(['dump', lock]);
    assert.equal(code, 1);
    assert.match(stderr, /nothing to show of [^\n]*LOCK: it only shows that a writer has been here\n$/);
    fixture.remove();
  });

  test('a torn tail of the manifest log is no damage', async () => {
    const fixture = await storeWith({ values: ['a'] });
    const file = firstFileOf(fixture.store, '.log');
    appendFileSync(file, 'what a power loss left');
    const dump = await dumpOf(file);
    assert.deepEqual(dump.problems, []);
    assert.equal(dump['restBytes'], 22);
    fixture.remove();
  });

  test('a segment without its end is refused with its code', async () => {
    const fixture = await storeWith({ values: ['a'] });
    const file = firstFileOf(fixture.store, '.seg');
    flipByte(file, -1);
    const { code, stderr } = await host.run(['dump', file]);
    assert.equal(code, 1);
    assert.match(stderr, /^millrace: ERR_MILLRACE_SEGMENT_CORRUPT: [^\n]+\n$/);
    fixture.remove();
  });

  test('what is no file of a store is refused on one line', async () => {
    const fixture = await storeWith({});
    const stranger = join(fixture.path, 'stranger');
    for (const content of ['', 'x', 'no file of a store', '\n'.repeat(100_000)]) {
      writeFileSync(stranger, content);
      const { code, stdout, stderr } = await host.run(['dump', stranger]);
      assert.deepEqual({ code, stdout }, { code: 1, stdout: '' });
      assert.match(stderr, /^millrace: ERR_MILLRACE_INVALID_ARGUMENT: [^\n]+\n$/);
    }
    for (const path of [fixture.path, join(fixture.path, 'missing')]) {
      const { code, stderr } = await host.run(['dump', path]);
      assert.equal(code, 1);
      assert.match(stderr, /^millrace: ERR_MILLRACE_READ_FAILED: [^\n]+\n$/);
    }
    fixture.remove();
  });

  test('the beginnings of files alone never crash it', async () => {
    const fixture = await storeWith({ values: ['a'] });
    for (const ending of ['STORE', '.wal', '.seg', 'CURRENT', '.log']) {
      const bytes = readFileSync(firstFileOf(fixture.store, ending));
      for (const length of [13, 31, 70]) {
        const cut = join(fixture.path, 'cut');
        writeFileSync(cut, bytes.subarray(0, Math.min(length, bytes.length - 1)));
        const { code, stderr } = await host.run(['dump', cut]);
        assert.equal(code, ending === '.log' && length === 70 ? code : 1, `${ending} cut at ${length}`);
        assert.doesNotMatch(stderr, /INTERNAL/);
      }
    }
    fixture.remove();
  });
});
