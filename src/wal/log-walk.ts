/**
 * Follows a lane's log block by block through its fillings, deciding each place by `BLOCK_TABLE`. Pure: it is given the
 * blocks that were found and answers which of them are the log.
 */
import { blockBytes } from '../ring/block-format.ts';
import { FIRST_BLOCK_POSITION } from '../ring/geometry.ts';
import { BLOCK_TABLE, type BlockFacts, decide } from './recovery-table.ts';
import type { FoundBlock } from './scan.ts';

/** The blocks found of one filling, by position. */
export interface Filling {
  readonly slotSequence: number;
  readonly blocks: readonly FoundBlock[];
}

/** A place where the log is damaged: acknowledged blocks are missing from here up to `resumesAt`. */
export interface Damage {
  readonly label: string;
  readonly slotSequence: number;
  readonly position: number;
  readonly blockSequence: number;
  /** The next block of the log that is intact; `undefined` when the filling holds none. */
  readonly resumesAt: FoundBlock | undefined;
}

export interface LogWalk {
  /** The blocks of the log, in order. */
  readonly blocks: readonly FoundBlock[];
  readonly damages: readonly Damage[];
  /** Label of the row that ended the log. */
  readonly endedBy: string;
}

/** Groups blocks into fillings younger than `flushed`, oldest first; of each slot only its youngest filling is real. */
export function fillingsOf(slots: readonly (readonly FoundBlock[])[], flushed: number): Filling[] {
  const fillings: Filling[] = [];
  for (const blocks of slots) {
    const youngest = blocks.reduce((most, block) => Math.max(most, block.slotSequence), -1);
    if (youngest <= flushed) continue;
    fillings.push({ slotSequence: youngest, blocks: blocks.filter((block) => block.slotSequence === youngest) });
  }
  return fillings.sort((left, right) => left.slotSequence - right.slotSequence);
}

/** Walks from block `firstBlock`. Behind a damage the walk goes on at the next intact block, for a salvage to use. */
export function walkLog(fillings: readonly Filling[], firstBlock: number): LogWalk {
  const blocks: FoundBlock[] = [];
  const damages: Damage[] = [];
  let due = firstBlock;
  let endedBy = 'B5';
  for (const [index, filling] of fillings.entries()) {
    const younger = fillings.slice(index + 1).find((later) => later.blocks.some((block) => block.blockSequence >= due));
    const byPosition = new Map(filling.blocks.map((block) => [block.position, block]));
    let position = FIRST_BLOCK_POSITION;
    for (;;) {
      const here = byPosition.get(position);
      const row = decide(BLOCK_TABLE, factsAt(filling, younger, here, position, due));
      if (row.then === 'accept' && here !== undefined) {
        blocks.push(here);
        due += 1;
        position += blockBytes(here.payloadBytes);
        continue;
      }
      endedBy = row.label;
      if (row.then !== 'damaged') break;
      const resumesAt = filling.blocks.find((block) => block.position > position && block.blockSequence > due);
      damages.push({ label: row.label, slotSequence: filling.slotSequence, position, blockSequence: due, resumesAt });
      if (resumesAt === undefined) {
        due = firstSequence(younger) ?? due;
        break;
      }
      due = resumesAt.blockSequence;
      position = resumesAt.position;
    }
  }
  return { blocks, damages, endedBy };
}

/** Facts are computed when a row asks: most places are valid, and the search for proof behind them is linear. */
function factsAt(
  filling: Filling,
  younger: Filling | undefined,
  here: FoundBlock | undefined,
  position: number,
  due: number,
): BlockFacts {
  return {
    valid: here?.blockSequence === due,
    get durableBehind(): boolean {
      return filling.blocks.some((block) => block.writeStart > position && block.blockSequence > due);
    },
    get younger(): BlockFacts['younger'] {
      return youngerBegin(younger, due);
    },
  };
}

function firstSequence(filling: Filling | undefined): number | undefined {
  return filling?.blocks[0]?.blockSequence;
}

function youngerBegin(younger: Filling | undefined, due: number): BlockFacts['younger'] {
  const first = younger?.blocks.find((block) => block.position === FIRST_BLOCK_POSITION);
  if (first === undefined) return 'none';
  return first.blockSequence === due ? 'continues' : first.blockSequence > due ? 'skips' : 'none';
}
