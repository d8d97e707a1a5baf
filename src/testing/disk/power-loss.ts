/** What a power loss leaves of a simulated disk: every choice that the loss makes, as an interface. */
import type { Random } from '../../base/random.ts';
import { SECTOR_BYTES, SECTORS_PER_PAGE } from './nodes.ts';

/** Decides what of the changes that no sync has confirmed is on the disk. */
export interface Survival {
  /**
   * Which image of an unsynced page is there, of `images`; 0 is the durable one. A list says it for each of the eight
   * sectors.
   */
  page(path: string, page: number, images: number): number | readonly number[];
  /** Length of a file whose length was changed. */
  size(path: string, durable: number, live: number): number;
  /** Whether a creation, rename or removal in a directory is there; `index` of `count`, in their order. */
  name(directory: string, index: number, count: number): boolean;
}

/** For tests that say page by page what survives; names and lengths do. */
export function survivingPages(keep: (path: string, page: number) => boolean): Survival {
  return {
    page: (path, page, images) => (keep(path, page) ? images - 1 : 0),
    size: (_path, _durable, live) => live,
    name: () => true,
  };
}

const SHARES: readonly number[] = [0, 20, 50, 80, 100];

/**
 * A loss by chance. Each loss has its own share of what survives, tears at sectors or at pages, and keeps changes of
 * names as a journal does, in order, or as the strictest reading of the standard allows, each by itself.
 */
export function randomSurvival(random: Random): Survival {
  const data = SHARES[random.below(SHARES.length)] ?? 0;
  const names = SHARES[random.below(SHARES.length)] ?? 0;
  const tearsSectors = random.below(2) === 0;
  const isJournal = random.below(2) === 0;
  const cut = random.uint32() / 2 ** 32;
  const image = (images: number): number => (random.below(100) < data ? 1 + random.below(images - 1) : 0);
  return {
    page: (_path, _page, images) =>
      tearsSectors ? Array.from({ length: SECTORS_PER_PAGE }, () => image(images)) : image(images),
    size: (_path, durable, live) => {
      const choice = random.below(4);
      if (choice === 0) return durable;
      if (choice > 1) return live;
      const [low, high] = durable < live ? [durable, live] : [live, durable];
      return Math.min(high, low + SECTOR_BYTES * random.below(1 + Math.ceil((high - low) / SECTOR_BYTES)));
    },
    name: (_directory, index, count) => (isJournal ? index < cut * (count + 1) - 0.5 : random.below(100) < names),
  };
}
