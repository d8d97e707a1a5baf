/** A proxy in front of the real server that fails single requests, and stores on both sides of it. */
import type { S3Options } from '../../../src/object/s3/options.ts';
import { S3ObjectStore } from '../../../src/object/s3/s3-object-store.ts';
import type { S3Server } from '../../support/ceph-server.ts';
import type { FaultPlan, FaultProxy, ProxyFault } from '../../support/fault-proxy.ts';
import { freshOptions, impatient } from './s3-fixture.ts';

export const SLOW_DOWN: ProxyFault = { kind: 'answer', status: 503, body: '<Error><Code>SlowDown</Code></Error>' };
export const THE_FUTURE: number = Date.now() + 86_400_000;

/** The first `count` requests that match meet the fault. */
export function first(count: number, fault: ProxyFault, matches: (method: string, url: string) => boolean): FaultPlan {
  let left = count;
  return ({ method, url }) => {
    if (left === 0 || !matches(method, url)) return undefined;
    left -= 1;
    return fault;
  };
}

export const isPut = (method: string): boolean => method === 'PUT';
export const isAny = (): boolean => true;

export interface Fixture {
  proxy: FaultProxy;
  endpoint: string;
  server: () => S3Server;
}

/** A store behind the proxy, and what it holds, read past the proxy. */
export function open(
  fixture: Fixture,
  options: Partial<S3Options> = {},
): { store: S3ObjectStore; direct: S3ObjectStore } {
  const chosen = freshOptions(fixture.server(), options);
  const store = new S3ObjectStore({ ...chosen, endpoint: fixture.endpoint }, impatient);
  const direct = new S3ObjectStore(chosen, impatient);
  return { store, direct };
}

export async function close(...stores: S3ObjectStore[]): Promise<void> {
  for (const store of stores) await store.close();
}
