/** The floor: copies each group into aligned memory, overwrites a file that was written before, and syncs. */
import { Floor } from '../../floor.ts';
import { type Peer, unreadable } from '../peer.ts';

export const floor: Peer = {
  name: 'floor',
  packages: [],
  guarantee: 'on disk; no format, no checksum, no index, no reader',
  durable: true,
  groups: 1,
  reads: false,
  open: async ({ dir, acknowledged }) => {
    const file = new Floor(dir);
    return {
      append: (values) => {
        file.write(values);
        acknowledged(values.length);
      },
      ...unreadable('the floor'),
      close: async () => {
        file.close();
      },
    };
  },
};
