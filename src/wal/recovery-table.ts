/**
 * What recovery decides, as data: the first row whose condition holds decides. `docs/recovery.md` explains each row
 * under the same label; errors and reports carry it.
 */

/** What is known about a slot file before its blocks are read. */
export interface FileFacts {
  readonly present: boolean;
  /** Whether the store's birth was complete, so that every slot file once existed whole. */
  readonly storeBorn: boolean;
  /** The header page is readable and its checksum holds. */
  readonly headerValid: boolean;
  readonly versionKnown: boolean;
  readonly sameStore: boolean;
  /** Lane, slot index, slot count and size are what the name and the file's length say. */
  readonly placed: boolean;
}

export type FileDecision = 'use' | 'create' | 'damaged' | 'too-new' | 'foreign';

export interface FileRow {
  readonly label: string;
  readonly when: (facts: FileFacts) => boolean;
  readonly then: FileDecision;
}

export const FILE_TABLE: readonly FileRow[] = [
  { label: 'F1', when: (f) => !f.present && !f.storeBorn, then: 'create' },
  { label: 'F2', when: (f) => !f.present, then: 'damaged' },
  { label: 'F3', when: (f) => !f.headerValid, then: 'damaged' },
  { label: 'F4', when: (f) => !f.versionKnown, then: 'too-new' },
  { label: 'F5', when: (f) => !f.sameStore, then: 'foreign' },
  { label: 'F6', when: (f) => !f.placed, then: 'damaged' },
  { label: 'F7', when: () => true, then: 'use' },
];

/** What is known about the place where the next block of the log is due. */
export interface BlockFacts {
  /** A block with the right filling, sequence and position, whose checksum holds. */
  readonly valid: boolean;
  /** As `valid`, but a later block than the one that is due. */
  readonly laterHere: boolean;
  /** A later block of the same filling is intact, and it or one behind it was written when this place was durable. */
  readonly durableBehind: boolean;
  /** How the next filling begins: with the block due here, with a later one, or its beginning says nothing. */
  readonly younger: 'none' | 'continues' | 'skips';
}

export type BlockDecision = 'accept' | 'damaged' | 'filling-ends' | 'log-ends';

export interface BlockRow {
  readonly label: string;
  readonly when: (facts: BlockFacts) => boolean;
  readonly then: BlockDecision;
}

/** Label of the row that ends an undamaged log. */
export const LOG_ENDS = 'B6';

export const BLOCK_TABLE: readonly BlockRow[] = [
  { label: 'B1', when: (b) => b.valid, then: 'accept' },
  { label: 'B2', when: (b) => b.laterHere, then: 'damaged' },
  { label: 'B3', when: (b) => b.durableBehind, then: 'damaged' },
  { label: 'B4', when: (b) => b.younger === 'continues', then: 'filling-ends' },
  { label: 'B5', when: (b) => b.younger === 'skips', then: 'damaged' },
  { label: LOG_ENDS, when: () => true, then: 'log-ends' },
];

/** The row that decides. Both tables end with a row that always holds. */
export function decide<F, R extends { readonly when: (facts: F) => boolean }>(table: readonly R[], facts: F): R {
  for (const row of table) {
    if (row.when(facts)) return row;
  }
  throw new Error('a decision table ends with a row that always holds');
}
