/** Everything that a store with wrong credentials says, in all the places where it says something. */
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, test, type TestContext } from 'node:test';
import { inspect } from 'node:util';
import type { Store } from '../../../src/index.ts';
import { s3 } from '../../../src/s3/index.ts';
import { serve } from '../../../src/server.ts';
import { runCli } from '../../cli/cli-process.ts';
import type { S3Server } from '../../support/ceph-server.ts';
import { numbered, StoreFolder, texts } from '../../support/test-store.ts';
import { freshOptions } from './s3-fixture.ts';

const CHANNELS = ['append', 'flush', 'compaction', 'recovery', 'trim', 'error'].map((name) => `millrace:${name}`);

/** What was said, and where. */
class Transcript {
  readonly said: { readonly where: string; readonly text: string }[] = [];

  constructor(t: TestContext) {
    const hear = (message: unknown, name: string | symbol): void => this.add(String(name), message);
    for (const name of CHANNELS) subscribe(name, hear);
    t.after(() => CHANNELS.forEach((name) => unsubscribe(name, hear)));
  }

  add(where: string, what: unknown): void {
    const printed = [inspect(what, { depth: 20, showHidden: true }), JSON.stringify(what) ?? ''];
    for (let cause = what; cause instanceof Error; cause = cause.cause) printed.push(cause.stack ?? '', cause.message);
    this.said.push({ where, text: typeof what === 'string' ? what : printed.join('\n') });
  }

  async refusal(where: string, work: Promise<unknown>): Promise<void> {
    await assert.rejects(work, (error) => {
      this.add(where, error);
      return true;
    });
  }

  assertFree(secrets: readonly string[]): void {
    for (const { where, text } of this.said) {
      for (const secret of secrets) assert.ok(!text.includes(secret), `${where} says ${secret}: ${text}`);
    }
  }
}

async function overHttp(transcript: Transcript, store: Store): Promise<void> {
  const server = await serve(store, { port: 0 });
  const ask = async (method: string, path: string, body?: string): Promise<void> => {
    const answer = await fetch(new URL(path, server.url), { method, ...(body === undefined ? {} : { body }) });
    transcript.add(`${method} ${path}`, `${inspect([...answer.headers])} ${await answer.text()}`);
  };
  await ask('POST', '/v1/streams/s/records', 'a line\n');
  for (const path of ['/v1/streams/s/records?from=first', '/v1/streams', '/v1/stats', '/v1/overview', '/metrics']) {
    await ask('GET', path);
  }
  await server.close();
}

export function s3SecretSuite(server: () => S3Server): void {
  describe('credentials that S3 refuses', () => {
    for (const wrong of ['secret', 'name'] as const) {
      test(`for their ${wrong} are said nowhere: errors, events, channels, metrics, HTTP, command line`, async (t) => {
        const { accessKeyId } = server().owner;
        const credentials = {
          accessKeyId: wrong === 'name' ? 'sentinel-name-of-the-key' : accessKeyId,
          secretAccessKey: 'sentinel-secret-of-the-key',
        };
        const options = freshOptions(server(), { credentials });
        const transcript = new Transcript(t);
        const folder = new StoreFolder(t);
        const objects = s3(options);
        transcript.add('the component', objects);
        const store = await folder.open({ objects });
        store.on('failed', (error) => transcript.add('failed', error));
        const stream = await store.stream('s');
        await stream.appendMany(numbered(10));
        await transcript.refusal('flush', store.flush());
        await transcript.refusal('append', stream.append('late'));
        await transcript.refusal('removeOrphans', store.removeOrphans({ dryRun: true }));
        await transcript.refusal('backup', store.backup(s3({ ...options, prefix: 'backup/' })));
        await overHttp(transcript, store);
        transcript.add('metrics', store.metrics());
        transcript.add('stats', store.stats());
        transcript.add('the store', store);
        transcript.add('read', await texts(stream.read()));
        await store.close();

        Object.assign(process.env, {
          AWS_ACCESS_KEY_ID: credentials.accessKeyId,
          AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
        });
        const { bucket, prefix, endpoint } = options;
        const place = `s3://${bucket}/${prefix}?endpoint=${encodeURIComponent(String(endpoint))}`;
        const commands = wrong === 'name' ? [] : [['verify'], ['gc', '--dry-run']];
        for (const [command = '', ...rest] of commands) {
          const args = [command, folder.dir, ...rest, '--objects', place];
          const { code, stdout, stderr } = await runCli(args);
          transcript.add(args.join(' '), `${code} ${stdout} ${stderr}`);
        }
        const said = transcript.said.map(({ text }) => text).join('\n');
        assert.match(said, wrong === 'name' ? /InvalidAccessKeyId/ : /SignatureDoesNotMatch/, 'it did fail for that');
        assert.ok(transcript.said.some(({ where }) => where === 'millrace:error') && /_REFUSED/.test(said));
        transcript.assertFree([...Object.values(credentials), server().owner.secretAccessKey]);
      });
    }
  });
}
