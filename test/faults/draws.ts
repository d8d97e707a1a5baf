/** Draws what losses at a moment leave. */
import { SeededRandom } from '../../src/base/random.ts';
import { Losses } from '../../src/testing/disk/losses.ts';
import { SECTORS_PER_PAGE } from '../../src/testing/disk/nodes.ts';
import { randomSurvival, type Survival } from '../../src/testing/disk/power-loss.ts';
import type { DiskSnapshot } from '../../src/testing/disk/simulated-disk.ts';
import type { Loss } from './known-disks.ts';
import { KILL } from './recovery.ts';

/** How many draws in a row may bring nothing new. */
const MISSES_MAX = 8;

/**
 * Different disks that losses at a moment may leave, until new ones become rare: first the one of a killed process,
 * then some of all kinds, then what tears each page by itself, as most writes can be torn in thousands of ways.
 */
export function* lossesAt(
  snapshot: DiskSnapshot,
  random: SeededRandom,
  most: number,
  drawn: () => void,
): Generator<Loss> {
  const losses = new Losses(snapshot.nodes);
  const left = new Set<bigint>();
  let tears = false;
  for (let misses = 0; misses < MISSES_MAX && left.size < most;) {
    const draws = new SeededRandom(random.uint32());
    const isKill = left.size === 0;
    const kind = isKill ? KILL : randomSurvival(draws);
    const remains = losses.after(tears ? tornPages(kind, draws) : kind);
    drawn();
    const digest = remains.digest();
    if (left.has(digest)) {
      misses += 1;
      if (misses === MISSES_MAX && !tears) [tears, misses] = [true, 0];
      continue;
    }
    left.add(digest);
    misses = 0;
    yield { snapshot, remains, isKill };
    if (left.size >= losses.most) return;
  }
}

/** As a loss, with each sector of what was not synced there or not by itself. */
function tornPages(survival: Survival, random: SeededRandom): Survival {
  const share = 1 + random.below(99);
  const sector = (images: number): number => (random.below(100) < share ? 1 + random.below(images - 1) : 0);
  return {
    ...survival,
    page: (_path, _page, images) => Array.from({ length: SECTORS_PER_PAGE }, () => sector(images)),
  };
}
