/** millrace itself: with a promise for each record, and with a promise for each group. */
import { open, type Stream } from '../../../src/index.ts';
import type { Peer, PeerLog, PeerOptions } from '../peer.ts';

const GUARANTEE = 'on disk: a sync of the log';

export const millrace: Peer = {
  name: 'millrace',
  packages: [],
  guarantee: `${GUARANTEE}; a promise a record`,
  durable: true,
  groups: 1,
  reads: true,
  open: (options) => openStore(options, appendEach),
};

export const millraceMany: Peer = {
  name: 'millrace appendMany',
  packages: [],
  guarantee: `${GUARANTEE}; a promise a group, as most peers have it`,
  durable: true,
  groups: 2,
  reads: false,
  streamsMax: 1,
  open: (options) => openStore(options, appendGroup),
};

type Append = (streams: readonly Stream[], options: PeerOptions) => PeerLog['append'];

/** The window of the largest records, 64 MiB of values, waits whole while the ring is full. */
const MAX_QUEUED_BYTES = 256 * 1024 * 1024;

async function openStore(options: PeerOptions, append: Append): Promise<PeerLog> {
  const store = await open({ dir: options.dir, wal: { maxQueuedBytes: MAX_QUEUED_BYTES } });
  const names = Array.from({ length: options.streams }, (_, index) => `stream-${index}`);
  const streams = await Promise.all(names.map((name) => store.stream(name)));
  const first = streams[0]!;
  return {
    append: append(streams, options),
    count: async () => (await first.info()).nextOffset,
    get: async (index) => (await first.get(index))?.value ?? undefined,
    scan: async (visit) => {
      for await (const batch of first.readBatches()) {
        for (let index = 0; index < batch.length; index += 1) visit(batch.record(index).value!);
      }
    },
    close: () => store.close(),
  };
}

function appendEach(streams: readonly Stream[], { acknowledged, failed }: PeerOptions): PeerLog['append'] {
  const done = (): void => {
    acknowledged(1);
  };
  return (values, firstStream) => {
    for (let index = 0; index < values.length; index += 1) {
      streams[(firstStream + index) % streams.length]!.append(values[index]!).then(done, failed);
    }
  };
}

function appendGroup(streams: readonly Stream[], { acknowledged, failed }: PeerOptions): PeerLog['append'] {
  return (values) => {
    streams[0]!.appendMany(values).then(() => {
      acknowledged(values.length);
    }, failed);
  };
}
