/** Stores over the real server for the suites beside this file, each with keys of its own. */
import { S3Client } from '@aws-sdk/client-s3';
import { systemClock } from '../../../src/base/clock.ts';
import { SeededRandom } from '../../../src/base/random.ts';
import { PART_BYTES_MIN, type S3Options } from '../../../src/object/s3/options.ts';
import { S3ObjectStore } from '../../../src/object/s3/s3-object-store.ts';
import type { RetryEnvironment } from '../../../src/object/retry.ts';
import type { S3Server } from '../../support/ceph-server.ts';

export const BUCKET = 'millrace-test';

/** Waits no time between attempts. */
export const impatient: RetryEnvironment = {
  clock: systemClock,
  random: new SeededRandom(1),
  sleep: () => new Promise((resolve) => setImmediate(resolve)),
};

let prefixes = 0;

/** A store with a prefix of its own: empty, whatever ran before. */
export function freshOptions(server: S3Server, options: Partial<S3Options> = {}): S3Options {
  prefixes += 1;
  return {
    bucket: BUCKET,
    prefix: `p${prefixes}/`,
    endpoint: server.endpoint,
    credentials: server.owner,
    partBytes: PART_BYTES_MIN,
    ...options,
  };
}

export function freshStore(server: S3Server, options: Partial<S3Options> = {}): S3ObjectStore {
  return new S3ObjectStore(freshOptions(server, options), impatient);
}

/** The bucket as any other program sees it: it puts what it likes under any key. */
export function rawClient({ endpoint, owner }: S3Server): S3Client {
  return new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, credentials: { ...owner } });
}

/** Bytes that differ from part to part. */
export function largeBytes(length: number): Uint8Array {
  return new SeededRandom(length).bytes(length);
}

export async function keysIn(store: S3ObjectStore): Promise<string[]> {
  const keys: string[] = [];
  for await (const entry of store.list()) keys.push(entry.key);
  return keys;
}
