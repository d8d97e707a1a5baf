/** The dashboard in a real browser. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, suite, test, type TestContext } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { atEnd } from '../support/at-end.ts';
import { startChromium } from '../support/chromium.ts';
import { numbered } from '../support/test-store.ts';
import { served, type ServedStore } from './server-fixture.ts';

const AXE: string = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const TOKEN = 'a-token-of-sufficient-length';
const HOSTILE = ['<img src=x onerror="document.title=1">', '</script><script>document.title=1</script>'];
const NARROW = { width: 400, height: 800 };
const WIDE = { width: 1280, height: 800 };

const chromium = await startChromium();
const reason = 'missing' in chromium ? chromium.missing : false;

after(async () => {
  if ('browser' in chromium) await chromium.browser.close();
});

interface Opened {
  readonly page: Page;
  /** Errors of the page, and what its content security policy refused. */
  readonly errors: string[];
}

async function openPage(
  t: TestContext,
  url: string,
  options: Parameters<Browser['newContext']>[0] = {},
): Promise<Opened> {
  assert.ok('browser' in chromium);
  const context = await chromium.browser.newContext({ viewport: WIDE, ...options });
  atEnd(t, () => context.close());
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text());
  });
  await page.goto(url);
  return { page, errors };
}

/** A store with a stream of hostile records, consumers, and enough streams to list. */
async function filled(t: TestContext): Promise<ServedStore> {
  const client = await served(t);
  const orders = await client.store.stream('orders');
  await orders.appendMany([...HOSTILE, '{"a":{"b":[1,2]}}', Buffer.from([0, 255, 65]), null, ...numbered(60)]);
  await orders.storeOffset('billing', 4);
  for (const name of ['<b onclick=1>bold', 'x'.repeat(200)]) await client.store.stream(name);
  return client;
}

async function expectAccessible(page: Page, what: string): Promise<void> {
  // As a string: the policy of the page lets no script element in.
  await page.evaluate(AXE);
  const describe = "({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join()";
  const violations = await page.evaluate<string[]>(`axe.run().then(({ violations }) => violations.map(${describe}))`);
  assert.deepEqual(violations, [], what);
}

async function textOf(page: Page, selector: string): Promise<string> {
  return (await page.textContent(selector)) ?? '';
}

suite('dashboard', { skip: reason }, () => {
  test('shows the store as it is, and follows what is appended', async (t) => {
    const client = await filled(t);
    const { page, errors } = await openPage(t, client.server.url);
    await page.waitForSelector('#state[data-state="live"]');
    await page.waitForSelector('#streams tr:nth-child(3)');
    const row = page.locator('#streams tr', { hasText: 'orders' });
    assert.match((await row.textContent()) ?? '', /orders.*65.*billing 60/);
    assert.match(await textOf(page, '#ring'), /Slots in use1 of 2/);
    await (await client.store.stream('orders')).appendMany(numbered(35));
    await row.getByText('100', { exact: true }).waitFor();
    await page.fill('#filter', 'nothing');
    await page.getByText('No stream has “nothing” in its name.').waitFor();
    assert.deepEqual(errors, []);
  });

  test('keeps what records and names hold as text, in every form', async (t) => {
    const client = await filled(t);
    const { page, errors } = await openPage(t, client.server.url);
    await page.getByRole('link', { name: 'orders' }).click();
    await page.waitForSelector('#records tr');
    await page.click('#oldest');
    await page.locator('#records tr[data-key="0"]').waitFor();
    const cell = (offset: number): Promise<string> => textOf(page, `#records tr[data-key="${offset}"] td:last-child`);
    assert.deepEqual([await cell(0), await cell(1)], HOSTILE);
    const json = page.locator('#records tr[data-key="2"] details');
    assert.equal(await json.locator('summary').textContent(), '{ "a": { "b": [ 1, 2 ] } }');
    const pretty = '{\n  "a": {\n    "b": [\n      1,\n      2\n    ]\n  }\n}';
    assert.equal(await json.locator('pre').textContent(), pretty);
    assert.match(await cell(3), /^0000 {2}00 ff 41 .*··A$/);
    assert.equal(await cell(4), 'tombstone');
    await page.selectOption('#view', 'hex');
    await page.getByText('0000  3c 69 6d 67').first().waitFor();
    await page.click('#newer');
    await page.locator('#records tr[data-key="25"]').waitFor();
    assert.equal(await page.locator('main img, main script').count(), 0);
    assert.equal(await page.title(), 'orders · millrace');
    assert.deepEqual(errors, []);
  });

  test('has no fault that axe finds, in light and dark, and fits 400 pixels', async (t) => {
    const client = await filled(t);
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page } = await openPage(t, client.server.url, { colorScheme, viewport: NARROW, reducedMotion: 'reduce' });
      for (const [path, ready] of [
        ['/', '#streams tr'],
        ['/#/streams/orders', '#records tr'],
      ] as const) {
        await page.goto(client.server.url + path);
        await page.waitForSelector(ready);
        await expectAccessible(page, `${colorScheme} ${path}`);
        assert.equal(await page.evaluate<number>('document.documentElement.scrollWidth'), NARROW.width, path);
      }
    }
  });

  test('asks for the token, again when it is wrong, and can be used by keyboard alone', async (t) => {
    const client = await served(t, { token: TOKEN });
    await (await client.store.stream('long')).append('v'.repeat(10_000));
    const { page } = await openPage(t, client.server.url);
    await page.waitForSelector('dialog[open]');
    await page.keyboard.type('not the token');
    await page.keyboard.press('Enter');
    await page.getByText('That was not the token of this server.').waitFor();
    await page.fill('#token', TOKEN);
    await page.keyboard.press('Enter');
    await page.waitForSelector('#state[data-state="live"]');
    await page.getByRole('link', { name: 'long' }).click();
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'download' }).click();
    assert.equal(readFileSync(await (await saved).path(), 'utf8'), 'v'.repeat(10_000), 'what was cut can be had whole');
    await page.getByRole('link', { name: 'All streams' }).click();
    await page.focus('#theme');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    assert.equal(await page.getAttribute('html', 'data-theme'), 'dark');
    await page.reload();
    await page.waitForSelector('#state[data-state="live"]');
    assert.equal(await page.getAttribute('html', 'data-theme'), 'dark', 'the choice is kept');
    await page.focus('#ingest-chart');
    await page.waitForTimeout(1_500);
    await page.keyboard.press('End');
    assert.match(await textOf(page, '#ingest-chart .reading'), /now$/);
  });

  test('says when the connection is lost', async (t) => {
    const client = await served(t);
    const { page } = await openPage(t, client.server.url);
    await page.waitForSelector('#state[data-state="live"]');
    await client.server.close();
    await page.waitForSelector('#state[data-state="lost"]');
  });
});
