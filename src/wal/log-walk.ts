/**
 * Follows a lane's log block by block through its fillings, deciding each place by `BLOCK_TABLE`. Pure: it is given the
 * blocks that were found and answers which of them are the log.
 */
import { blockBytes } from '../ring/block-format.ts';
import { FIRST_BLOCK_POSITION } from '../ring/geometry.ts';
import { BLOCK_TABLE, type BlockFacts, decide, LOG_ENDS } from './recovery-table.ts';
import type { FoundBlock } from './scan.ts';

/** The blocks found of one filling, by position. */
export interface Filling {
  readonly slotSequence: number;
  readonly blocks: readonly FoundBlock[];
}

/** A place where the log is damaged: acknowledged blocks are missing there. */
export interface Damage {
  readonly label: string;
  readonly slotSequence: number;
  readonly position: number;
  /** Sequence of the first missing block. */
  readonly blockSequence: number;
  /** Sequence of the intact block that the log goes on with. */
  readonly resumesWith: number;
  /** End of the damaged bytes in the slot; `undefined` when they reach to its end. */
  readonly resumesAt: number | undefined;
}

export interface LogWalk {
  /** The blocks of the log, in order. */
  readonly blocks: readonly FoundBlock[];
  readonly damages: readonly Damage[];
  /** Label of the row that ended the log. */
  readonly endedBy: string;
}

/**
 * The fillings younger than `flushed`, oldest first and without a hole: one that left nothing is there without blocks.
 * Of each slot only its youngest filling is real, and of that only the blocks that no younger filling has replaced:
 * what lies behind a torn write is never part of the log again, for the log went on with the same sequences elsewhere.
 */
export function fillingsOf(slots: readonly (readonly FoundBlock[])[], flushed: number): Filling[] {
  const bySequence = new Map<number, readonly FoundBlock[]>();
  let newest = flushed;
  for (const blocks of slots) {
    const youngest = blocks.reduce((most, block) => Math.max(most, block.slotSequence), -1);
    if (youngest <= flushed) continue;
    const filling = blocks.filter((block) => block.slotSequence === youngest);
    bySequence.set(youngest, filling);
    newest = Math.max(newest, youngest);
  }
  const fillings: Filling[] = [];
  let replacedFrom = Infinity;
  for (let slotSequence = newest; slotSequence > Math.max(flushed, newest - slots.length); slotSequence -= 1) {
    const found = bySequence.get(slotSequence) ?? [];
    const blocks = found.filter((block) => block.blockSequence < replacedFrom);
    replacedFrom = found.reduce((least, block) => Math.min(least, block.blockSequence), replacedFrom);
    fillings.push({ slotSequence, blocks });
  }
  return fillings.reverse();
}

/** Walks from block `firstBlock`. Behind a damage the walk goes on at the next intact block, for a salvage to use. */
export function walkLog(fillings: readonly Filling[], firstBlock: number): LogWalk {
  const blocks: FoundBlock[] = [];
  const damages: Damage[] = [];
  let due = firstBlock;
  let endedBy = LOG_ENDS;
  const youngest = fillings.findLastIndex((filling) => firstOf(filling) !== undefined);
  for (const [index, filling] of fillings.entries()) {
    const next = fillings[index + 1];
    const byPosition = new Map(filling.blocks.map((block) => [block.position, block]));
    let position = FIRST_BLOCK_POSITION;
    for (;;) {
      const here = byPosition.get(position);
      const row = decide(BLOCK_TABLE, factsAt({ filling, next, complete: index < youngest, here, position, due }));
      if (row.then === 'accept' && here !== undefined) {
        blocks.push(here);
        due += 1;
        position += blockBytes(here.payloadBytes);
        continue;
      }
      endedBy = row.label;
      if (row.then !== 'damaged') break;
      const { slotSequence } = filling;
      const intact = intactFrom(filling.blocks, position, due);
      const resumesWith = intact?.blockSequence ?? firstOf(next)?.blockSequence ?? due;
      const resumesAt = intact?.position;
      damages.push({ label: row.label, slotSequence, position, blockSequence: due, resumesWith, resumesAt });
      due = resumesWith;
      if (resumesAt === undefined) break;
      position = resumesAt;
    }
  }
  return { blocks, damages, endedBy };
}

interface Place {
  readonly filling: Filling;
  readonly next: Filling | undefined;
  /**
   * A younger filling begins with an intact block. What is left of this one in front of that block's sequence is no
   * remainder of a torn write, so the log went past it.
   */
  readonly complete: boolean;
  readonly here: FoundBlock | undefined;
  readonly position: number;
  readonly due: number;
}

/** Facts are computed when a row asks: most places are valid, and the search for proof behind them is linear. */
function factsAt({ filling, next, complete, here, position, due }: Place): BlockFacts {
  return {
    valid: here?.blockSequence === due,
    laterHere: here !== undefined && here.blockSequence > due,
    get durableBehind(): boolean {
      if (complete && intactFrom(filling.blocks, position, due) !== undefined) return true;
      // From the end: where anything proves it, the last block usually does.
      return filling.blocks.findLast((b) => b.writeStart > position && b.blockSequence > due) !== undefined;
    },
    get younger(): BlockFacts['younger'] {
      const first = firstOf(next);
      if (first === undefined || first.blockSequence < due) return 'none';
      return first.blockSequence === due ? 'continues' : 'skips';
    },
  };
}

/** The first block at or behind `position` that comes after block `due`. */
function intactFrom(blocks: readonly FoundBlock[], position: number, due: number): FoundBlock | undefined {
  let low = 0;
  let high = blocks.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((blocks[middle] as FoundBlock).position < position) low = middle + 1;
    else high = middle;
  }
  while (low < blocks.length && (blocks[low] as FoundBlock).blockSequence <= due) low += 1;
  return blocks[low];
}

/** The block that a filling begins with, when it is intact. */
function firstOf(filling: Filling | undefined): FoundBlock | undefined {
  const first = filling?.blocks[0];
  return first?.position === FIRST_BLOCK_POSITION ? first : undefined;
}
