/** What the dashboard asks for: samples, generations, previews, and the files of the page. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Sampler } from '../../src/server/sampler.ts';
import { numbered } from '../support/test-store.ts';
import { served } from './server-fixture.ts';

suite('overview', () => {
  test('samples tell what happened since the one before, and only new ones are sent', async (t) => {
    const client = await served(t);
    let now = 1_000;
    const sampler = new Sampler(client.store, () => now);
    const orders = await client.store.stream('orders');
    await orders.appendMany(['abc', 'd']);
    now += 500;
    sampler.sample();
    now += 1_000;
    sampler.sample();
    const [busy, idle] = sampler.since(0);
    assert.deepEqual([busy?.records, busy?.userBytes, busy?.interval, busy?.at], [2, 4, 500, 500]);
    assert.ok((busy?.p50 ?? 0) > 0 && busy?.p50 === busy?.p99, 'one append has one latency');
    assert.deepEqual([idle?.records, idle?.p50, idle?.sequence], [0, null, 2]);
    assert.deepEqual(sampler.since(1), [idle]);
    for (let round = 0; round < 400; round += 1) sampler.sample();
    assert.equal(sampler.since(0).length, 300, 'the past is bounded');
    assert.equal(sampler.since(0).at(-1)?.sequence, 402);
  });

  test('generations are counted from the objects there are', async (t) => {
    const client = await served(t);
    await (await client.store.stream('orders')).appendMany(numbered(100));
    await client.store.flush();
    const overview = (await client.get('/v1/overview?since=0')).json<{
      generations: { generation: number; objects: number; bytes: number; liveBytes: number }[];
      isReadOnly: boolean;
      appends: { records: number; acks: number };
    }>();
    const [first] = overview.generations;
    assert.deepEqual([first?.generation, first?.objects, overview.isReadOnly], [0, 1, false]);
    assert.ok((first?.bytes ?? 0) >= (first?.liveBytes ?? 0) && (first?.liveBytes ?? 0) > 0);
    assert.deepEqual(overview.appends, { records: 100, userBytes: 890, acks: 1 });
  });
});

suite('previews', () => {
  test('hold the beginnings of keys and values, cut between characters, and their lengths', async (t) => {
    const client = await served(t);
    const orders = await client.store.stream('orders');
    await orders.appendMany([
      { value: 'aäö', key: 'a long key' },
      { value: Buffer.from([255, 1, 2, 3, 4]) },
      { value: null },
    ]);
    const [text, bytes, tombstone] = await client.read('/v1/streams/orders/records?preview=4');
    assert.deepEqual([text?.['value'], text?.['valueBytes']], ['aä', 5]);
    assert.deepEqual([text?.['key'], text?.['keyBytes']], ['a lo', 10]);
    assert.deepEqual([bytes?.['value'], bytes?.['valueBytes']], [{ base64: '/wECAw==' }, 5]);
    assert.deepEqual([tombstone?.['value'], tombstone?.['key']], [null, null]);
  });
});

suite('the page', () => {
  test('is its own files and nothing else, under a policy that lets nothing else run', async (t) => {
    const client = await served(t, { token: 'a-token-of-sufficient-length' });
    const page = await client.get('/');
    assert.equal(page.headers['content-type'], 'text/html; charset=utf-8');
    const policy = String(page.headers['content-security-policy']);
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'/);
    assert.doesNotMatch(policy, /unsafe|\*|data:|https?:/);
    assert.doesNotMatch(page.text, /<style|style=|onclick|<script(?![^>]* src=)/i);
    const files = [...page.text.matchAll(/"\/assets\/([^"]+)"/g)].map(([, name = '']) => name);
    assert.ok(files.length >= 4);
    for (const name of [...files, 'dom.js', 'records.js']) {
      const { status, headers, text } = await client.get(`/assets/${name}`);
      assert.equal(status, 200, name);
      assert.match(String(headers['content-type']), /javascript|css|svg/);
      assert.doesNotMatch(text, /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(/, name);
      const imported = [...text.matchAll(/from '\.\/([^']+)'/g)].map(([, file = '']) => file);
      for (const file of imported) assert.equal((await client.get(`/assets/${file}`)).status, 200, file);
    }
    for (const name of ['index.html', '..%2fopenapi.json', '__proto__', 'toString', '%00']) {
      assert.equal((await client.get(`/assets/${name}`)).status, 404, name);
    }
  });
});
