import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { absenceOf } from '../../../bench/peers/servers/program.ts';
import { accepts, endLeftServers, freePorts, Server } from '../../../bench/peers/servers/server.ts';

/** Listens on the port that it is given, and ends when it is asked to. */
const LISTENER = "require('node:net').createServer().listen(Number(process.argv[1]), '127.0.0.1')";

suite('servers of the comparison', () => {
  const dir = mkdtempSync(join(tmpdir(), 'millrace-test-servers-'));
  after(() => {
    rmSync(dir, { recursive: true, force: true });
  });

  function start(code: string, ...args: readonly string[]): Server {
    return new Server({ dir, path: process.execPath, args: ['-e', code, ...args] });
  }

  test('are waited for, and are gone when they were stopped', async () => {
    const [port] = (await freePorts(1)) as [number];
    const server = start(LISTENER, String(port));
    await server.ready(() => accepts(port));
    await server.stop();
    await assert.rejects(accepts(port));
  });

  test('that end by themselves are reported with what they said', async () => {
    const server = start("console.error('the licence is expired'); process.exitCode = 3");
    await assert.rejects(
      server.ready(() => Promise.reject(new Error('no answer'))),
      /ended by itself: Error: no answer\nthe licence is expired/s,
    );
  });

  const skip = process.platform === 'linux' ? false : 'only /proc tells a process from a later one with its number';

  test('that were left behind are ended by what was noted of them, and no later process is', { skip }, async () => {
    const [port] = (await freePorts(1)) as [number];
    const server = start(LISTENER, String(port));
    await server.ready(() => accepts(port));
    const ownNumber = `${process.pid} 1\n`;
    appendFileSync(join(dir, 'servers.started'), ownNumber);
    endLeftServers(dir);
    await server.exited;
    await assert.rejects(accepts(port));
  });

  test('use processor time and memory that are told', { skip }, async () => {
    const server = start('for (const until = Date.now() + 200; Date.now() < until;); setInterval(() => 0, 1e6)');
    await server.ready(async () => {
      assert.ok(server.processorSeconds() > 0);
    });
    assert.ok(server.peakBytes() > 1e6);
    await server.stop();
    assert.ok(Number.isNaN(server.processorSeconds()));
  });

  test('get ports that are different from each other', async () => {
    const ports = await freePorts(4);
    assert.equal(new Set(ports).size, 4);
  });

  test('that are not installed are missed with the remedy', () => {
    assert.match(absenceOf({ name: 'no-such-server', packageName: 'no-such' })!, /apt-get install no-such$/);
    assert.equal(absenceOf({ name: 'node', packageName: 'nodejs', places: [process.execPath] }), undefined);
    assert.equal(absenceOf(undefined), undefined);
  });
});
