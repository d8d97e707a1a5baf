import assert from 'node:assert/strict';
import { existsSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { finished, MAIN, runCli, startCli, succeed } from './cli-process.ts';
import { startWriter, storeWith, withStore } from './store-fixture.ts';

interface Summary {
  readonly stream: string;
  readonly records: number;
  readonly bytes: number;
  readonly firstOffset: number;
  readonly nextOffset: number;
  readonly complete: boolean;
}

function parse(stdout: string): Summary {
  return JSON.parse(stdout) as Summary;
}

async function valuesOf(dir: string, stream: string): Promise<(string | undefined)[]> {
  return withStore({ dir, readOnly: true }, async (store) => {
    const values: (string | undefined)[] = [];
    for await (const record of (await store.stream(stream)).read()) values.push(record.value?.toString());
    return values;
  });
}

suite('ingest', () => {
  test('makes the store and the stream, and says what it kept', async () => {
    const fixture = await storeWith({});
    const dir = join(fixture.path, 'new', 'store');
    const summary = parse(await succeed(['ingest', dir, 'lines', '--json'], 'one\ntwo\n\nfour'));
    assert.deepEqual(summary, {
      stream: 'lines',
      records: 4,
      bytes: 10,
      firstOffset: 0,
      nextOffset: 4,
      complete: true,
    });
    assert.deepEqual(await valuesOf(dir, 'lines'), ['one', 'two', '', 'four']);
    fixture.remove();
  });

  test('goes on where the stream ends', async () => {
    const fixture = await storeWith({ lines: ['a', 'b'] });
    const summary = parse(await succeed(['ingest', fixture.store, 'lines', '--json'], 'c\n'));
    assert.deepEqual([summary.firstOffset, summary.nextOffset], [2, 3]);
    assert.match(await succeed(['ingest', fixture.store, 'lines'], 'd\ne\n'), /^2 records \(2 B\) kept .* 3 to 4\n$/);
    assert.deepEqual(await valuesOf(fixture.store, 'lines'), ['a', 'b', 'c', 'd', 'e']);
    fixture.remove();
  });

  test('keeps every byte but the newlines: carriage returns, zeros, and bytes that are no text', async () => {
    const fixture = await storeWith({});
    const input = Buffer.concat([Buffer.from('windows\r\n\0\n'), Buffer.from([0xff, 0xfe, 10])]);
    await succeed(['ingest', fixture.store, 'raw'], input);
    const { stdout } = await runCli(['read', fixture.store, 'raw', '--json']);
    const values = stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { value: unknown }).value);
    assert.deepEqual(values, ['windows\r', '\0', { base64: '//4=' }]);
    fixture.remove();
  });

  test('takes more lines than the ring and a pipe hold, with lines across every chunk', async () => {
    const fixture = await storeWith({});
    const lines = Array.from({ length: 60_000 }, (_, index) => `${index} ${'x'.repeat(index % 97)}`);
    const summary = parse(await succeed(['ingest', fixture.store, 'many', '--json'], lines.join('\n')));
    assert.equal(summary.records, lines.length);
    assert.deepEqual(await valuesOf(fixture.store, 'many'), lines);
    fixture.remove();
  });

  test('reads a file on standard input', async () => {
    const fixture = await storeWith({});
    const file = join(fixture.path, 'input');
    writeFileSync(file, 'from\na file\n');
    const child = spawn(process.execPath, [MAIN, 'ingest', fixture.store, 'file'], {
      stdio: [openSync(file, 'r'), 'ignore', 'inherit'],
    });
    assert.equal(await new Promise((resolve) => child.once('close', resolve)), 0);
    assert.deepEqual(await valuesOf(fixture.store, 'file'), ['from', 'a file']);
    fixture.remove();
  });

  test('a directory on standard input is refused, and makes no store', async () => {
    const fixture = await storeWith({});
    const dir = join(fixture.path, 'new');
    const child = spawn(process.execPath, [MAIN, 'ingest', dir, 'file'], {
      stdio: [openSync(fixture.path, 'r'), 'ignore', 'pipe'],
    });
    const { stderr } = child;
    assert.ok(stderr !== null);
    const said = text(stderr);
    assert.notEqual(await new Promise((resolve) => child.once('close', resolve)), 0);
    assert.match(await said, /standard input is a directory/);
    assert.ok(!existsSync(dir));
    fixture.remove();
  });

  test('no input is no record and no error', async () => {
    const fixture = await storeWith({ lines: ['a'] });
    const summary = parse(await succeed(['ingest', fixture.store, 'lines', '--json'], ''));
    assert.deepEqual([summary.records, summary.firstOffset, summary.nextOffset], [0, 1, 1]);
    fixture.remove();
  });

  test('--key-field takes the key of each record from its JSON', async () => {
    const fixture = await storeWith({});
    await succeed(['ingest', fixture.store, 'keyed', '--key-field', 'id'], '{"id":"a"}\n{"id":7,"x":1}\n{"id":true}\n');
    await withStore({ dir: fixture.store, readOnly: true }, async (store) => {
      const keys: (string | undefined)[] = [];
      for await (const { key } of (await store.stream('keyed')).read()) keys.push(key?.toString());
      assert.deepEqual(keys, ['a', '7', 'true']);
    });
    fixture.remove();
  });

  for (const [what, line] of [
    ['is not JSON', '{'],
    ['is a list', '[1]'],
    ['lacks the field', '{"other":1}'],
    ['only inherits the field', '{}'],
    ['has an object in it', '{"constructor":{}}'],
  ] as const) {
    test(`--key-field stops at a line that ${what}, and keeps those before it`, async () => {
      const fixture = await storeWith({});
      const field = 'constructor';
      const input = `{"constructor":1}\n${line}\n{"constructor":3}\n`;
      const { code, stdout, stderr } = await runCli(
        ['ingest', fixture.store, 'keyed', '--key-field', field, '--json'],
        input,
      );
      assert.equal(code, 1);
      const { records, complete } = parse(stdout);
      assert.deepEqual({ records, complete }, { records: 1, complete: false });
      assert.match(stderr, /"code":"ERR_MILLRACE_INVALID_ARGUMENT".*line 2: /);
      fixture.remove();
    });
  }

  test('a line without end is refused before it fills the memory', async () => {
    const fixture = await storeWith({});
    const input = Buffer.concat([Buffer.from('short\n'), Buffer.alloc(17 * 1024 * 1024, 'x')]);
    const { code, stdout, stderr } = await runCli(['ingest', fixture.store, 'long', '--json'], input);
    assert.equal(code, 1);
    assert.equal(parse(stdout).records, 1);
    assert.match(stderr, /ERR_MILLRACE_RECORD_TOO_LARGE.*line 2 /);
    fixture.remove();
  });

  test('--compression is kept by the stream', async () => {
    const fixture = await storeWith({});
    await succeed(['ingest', fixture.store, 'plain', '--compression', 'none'], 'x\n');
    await succeed(['ingest', fixture.store, 'plain'], 'y\n');
    await withStore({ dir: fixture.store, readOnly: true }, async (store) => {
      assert.equal((await store.stream('plain')).config.compression, 'none');
    });
    fixture.remove();
  });

  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    test(`${signal} keeps what was read so far, and says how much that is`, async () => {
      const fixture = await storeWith({});
      const child = startCli('ingest', fixture.store, 'lines', '--json');
      const result = finished(child);
      child.stdin.write('one\ntwo\nhalf a li');
      await recordsArrive(fixture.store, 2);
      child.kill(signal);
      const { code, stdout, stderr } = await result;
      assert.equal(code, 1);
      const { records, complete } = parse(stdout);
      assert.deepEqual({ records, complete }, { records: 2, complete: false });
      assert.match(stderr, new RegExp(`ERR_MILLRACE_ABORTED.*${signal}`));
      assert.deepEqual(await valuesOf(fixture.store, 'lines'), ['one', 'two']);
      fixture.remove();
    });
  }

  test('a store that another process writes to is refused', async () => {
    const fixture = await storeWith({});
    const writer = await startWriter(fixture.store, 'lines', 1, 1);
    const { code, stdout, stderr } = await runCli(['ingest', fixture.store, 'lines'], 'x\n');
    assert.deepEqual({ code, stdout }, { code: 1, stdout: '' });
    assert.match(stderr, /^millrace: ERR_MILLRACE_LOCKED: [^\n]+\n$/);
    await writer.kill();
    fixture.remove();
  });

  test('a directory with other files in it is refused and left alone', async () => {
    const fixture = await storeWith({});
    const dir = join(fixture.path, 'other');
    mkdirSync(dir);
    writeFileSync(join(dir, 'thesis.txt'), 'precious');
    const { code, stderr } = await runCli(['ingest', dir, 'lines'], 'x\n');
    assert.equal(code, 1);
    assert.match(stderr, /^millrace: ERR_MILLRACE_DIRECTORY_UNUSABLE: [^\n]+thesis\.txt[^\n]+\n$/);
    fixture.remove();
  });

  test('the reader of the summary may be gone', async () => {
    const fixture = await storeWith({});
    const child = startCli('ingest', fixture.store, 'lines');
    child.stdout.destroy();
    child.stdin.end('x\n');
    const code = await new Promise((resolve) => child.once('exit', resolve));
    assert.equal(code, 0);
    assert.deepEqual(await valuesOf(fixture.store, 'lines'), ['x']);
    fixture.remove();
  });
});

/** Waits until the log of the store holds so many records: nothing else tells from outside that the input was read. */
async function recordsArrive(dir: string, records: number): Promise<void> {
  for (;;) {
    const { stdout } = await runCli(['verify', dir, '--json']);
    if ((JSON.parse(stdout) as { unflushedRecords: number }).unflushedRecords >= records) return;
    await sleep(50);
  }
}
