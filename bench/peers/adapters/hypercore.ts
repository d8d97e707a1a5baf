/** hypercore: a signed log with a Merkle tree, on RocksDB; many of them share one store. */
import { loadPackage } from '../packages.ts';
import type { Peer, PeerOptions } from '../peer.ts';

/** What is used of the packages. */
type Corestore = new (path: string) => {
  ready(): Promise<void>;
  get(options: { name: string }): Core;
  close(): Promise<void>;
};

interface Core {
  readonly length: number;
  ready(): Promise<void>;
  append(blocks: readonly Buffer[]): Promise<unknown>;
  get(index: number): Promise<Buffer | null>;
}

/** Reads in flight of a scan. */
const SCAN_AT_ONCE = 512;

export const hypercore: Peer = {
  name: 'hypercore',
  packages: ['hypercore', 'corestore'],
  guarantee: 'in the page cache: the binding has no sync',
  durable: false,
  groups: 2,
  reads: true,
  open: async (options) => {
    const { dir, streams } = options;
    const store = new (loadPackage<Corestore>('corestore'))(dir);
    await store.ready();
    const cores = Array.from({ length: streams }, (_, index) => store.get({ name: `stream-${index}` }));
    await Promise.all(cores.map((core) => core.ready()));
    const first = cores[0]!;
    const fetched = async (index: number): Promise<Buffer | undefined> => (await first.get(index)) ?? undefined;
    return {
      append: (values, firstStream) => {
        appendGroup(cores, values, firstStream, options);
      },
      count: async () => first.length,
      get: fetched,
      scan: async (visit) => {
        for (let from = 0; from < first.length; from += SCAN_AT_ONCE) {
          const length = Math.min(SCAN_AT_ONCE, first.length - from);
          for (const value of await Promise.all(Array.from({ length }, (_, index) => fetched(from + index)))) {
            visit(value!);
          }
        }
      },
      close: () => store.close(),
    };
  },
};

/** Each log takes its part of the group in one append. */
function appendGroup(
  cores: readonly Core[],
  values: readonly Buffer[],
  firstStream: number,
  { acknowledged, failed }: PeerOptions,
): void {
  for (let part = 0; part < Math.min(cores.length, values.length); part += 1) {
    const blocks = cores.length === 1 ? values : values.filter((_, index) => index % cores.length === part);
    cores[(firstStream + part) % cores.length]!.append(blocks).then(() => {
      acknowledged(blocks.length);
    }, failed);
  }
}
