import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { CliHost, finished, nextLines, startCli, succeed } from './cli-process.ts';
import { startWriter, storeWith, withStore } from './store-fixture.ts';

const host = new CliHost();
after(() => {
  host.end();
});

const NUMBERS = Array.from({ length: 100 }, (_, index) => ({ value: `v${index}`, timestamp: 1_000 + index }));

function lines(from: number, to: number): string {
  return NUMBERS.slice(from, to)
    .map(({ value }) => `${value}\n`)
    .join('');
}

suite('read', () => {
  test('prints all values in order', async () => {
    const fixture = await storeWith({ numbers: NUMBERS });
    assert.equal(await host.succeed(['read', fixture.store, 'numbers']), lines(0, 100));
    fixture.remove();
  });

  test('starts where it is told to, and stops after --limit', async () => {
    const fixture = await storeWith({ numbers: NUMBERS });
    const read = (...args: string[]): Promise<string> => host.succeed(['read', fixture.store, 'numbers', ...args]);
    assert.equal(await read('--from', '42', '--limit', '3'), lines(42, 45));
    assert.equal(await read('--from', 'first', '--limit', '1'), lines(0, 1));
    assert.equal(await read('--from', 'last'), lines(99, 100));
    assert.equal(await read('--from', 'next'), '');
    assert.equal(await read('--from', '100'), '');
    assert.equal(await read('--limit', '0'), '');
    assert.equal(await read('--from', '@1090'), lines(90, 100));
    assert.equal(await read('--from', '@1970-01-01T00:00:01.095Z'), lines(95, 100));
    fixture.remove();
  });

  test('an offset beyond the end fails and names the end', async () => {
    const fixture = await storeWith({ numbers: NUMBERS });
    const { code, stdout, stderr } = await host.run(['read', fixture.store, 'numbers', '--from', '101']);
    assert.deepEqual({ code, stdout }, { code: 1, stdout: '' });
    assert.match(stderr, /^millrace: ERR_MILLRACE_OFFSET_OUT_OF_RANGE: [^\n]*100[^\n]*\n$/);
    fixture.remove();
  });

  test('a stream that does not exist fails', async () => {
    const fixture = await storeWith({ numbers: NUMBERS });
    const { code, stderr } = await host.run(['read', fixture.store, 'letters']);
    assert.equal(code, 1);
    assert.match(stderr, /^millrace: ERR_MILLRACE_STREAM_NOT_FOUND: [^\n]+letters[^\n]+\n$/);
    fixture.remove();
  });

  test('--json prints an object a line: text as text, other bytes as base64, what is missing as null', async () => {
    const fixture = await storeWith({
      mixed: [
        { value: 'text "quoted"\n', key: 'ключ', timestamp: 5 },
        { value: Buffer.from([0xff]), key: Buffer.from([0xfe]), timestamp: 6 },
        { value: null, key: 'gone', timestamp: 7 },
        { value: '', timestamp: 8 },
      ],
    });
    const printed = (await host.succeed(['read', fixture.store, 'mixed', '--json'])).trim().split('\n');
    assert.deepEqual(
      printed.map((line) => JSON.parse(line) as unknown),
      [
        { offset: 0, timestamp: 5, key: 'ключ', value: 'text "quoted"\n' },
        { offset: 1, timestamp: 6, key: { base64: '/g==' }, value: { base64: '/w==' } },
        { offset: 2, timestamp: 7, key: 'gone', value: null },
        { offset: 3, timestamp: 8, key: null, value: '' },
      ],
    );
    fixture.remove();
  });

  test('a reader that has seen enough ends it quietly', async () => {
    const long = Array.from({ length: 20_000 }, (_, index) => `${index} ${'x'.repeat(100)}`);
    const fixture = await storeWith({ long });
    const child = startCli('read', fixture.store, 'long');
    const [first] = await nextLines(child, 1);
    child.stdout.destroy();
    const code = new Promise((resolve) => child.once('exit', resolve));
    assert.equal(first, long[0]);
    assert.equal(await code, 0);
    assert.equal((child.stderr.read() as Buffer | null)?.toString() ?? '', '');
    fixture.remove();
  });

  test('beside a running writer it prints what is in segments, and notes the rest', async () => {
    const fixture = await storeWith({});
    const writer = await startWriter(fixture.store, 'values', 3, 2);
    const { code, stdout, stderr } = await host.run(['read', fixture.store, 'values']);
    assert.deepEqual({ code, stdout }, { code: 0, stdout: 'value 0\nvalue 1\nvalue 2\n' });
    assert.match(stderr, /^millrace: note: 2 newer records of values are in the write-ahead log only[^\n]*\n$/);
    await writer.kill();
    fixture.remove();
  });

  test('what a killed writer left in its log is noted, and touched by nobody', async () => {
    const fixture = await storeWith({});
    const writer = await startWriter(fixture.store, 'values', 1, 4);
    await writer.kill();
    for (const args of [['read', 'values'], ['info', 'values'], ['ls']] as const) {
      const [command, ...rest] = args;
      const { code, stderr } = await host.run([command, fixture.store, ...rest]);
      assert.equal(code, 0);
      assert.match(stderr, /note: 4 newer records of [^\n]+ run: millrace recover /, command);
    }
    for (const args of [['info', 'values'], ['ls']] as const) {
      const [command, ...rest] = args;
      const found = JSON.parse(await host.succeed([command, fixture.store, ...rest, '--json'])) as {
        unflushedRecords: number;
      };
      assert.equal(found.unflushedRecords, 4);
    }
    // The note is for whoever has reached the end.
    assert.equal(await host.succeed(['read', fixture.store, 'values', '--limit', '1']), 'value 0\n');
    assert.match(await host.succeed(['recover', fixture.store]), /^4 records recovered from \d blocks of the log\n$/);
    assert.match(await host.succeed(['recover', fixture.store]), /^nothing to recover/);
    assert.equal(
      await succeed(['ingest', fixture.store, 'values'], ''),
      '0 records (0 B) kept in values: the next offset is 5\n',
    );
    assert.equal((await host.succeed(['read', fixture.store, 'values'])).split('\n').length, 6);
    fixture.remove();
  });

  test('--follow prints what other processes add, until Ctrl-C', async () => {
    const fixture = await storeWith({ values: ['a'] });
    const child = startCli('read', fixture.store, 'values', '--follow');
    assert.deepEqual(await nextLines(child, 1), ['a']);
    await withStore({ dir: fixture.store }, async (store) => {
      await (await store.stream('values')).append('b');
    });
    assert.deepEqual(await nextLines(child, 1), ['b']);
    const result = finished(child);
    child.kill('SIGINT');
    assert.deepEqual(await result, { code: 0, stdout: '', stderr: '' });
    fixture.remove();
  });

  test('--follow with --limit ends by itself', async () => {
    const fixture = await storeWith({ values: ['a', 'b'] });
    assert.equal(await host.succeed(['read', fixture.store, 'values', '--follow', '--limit', '2']), 'a\nb\n');
    fixture.remove();
  });
});
