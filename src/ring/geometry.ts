/**
 * The shape of a ring: K slots of equal size behind one page of shared words, all in one block of shared memory. Slot i
 * is the image of WAL file i: the same bytes at the same positions, its first page (the file's header) included.
 */
import { assert } from '../base/assert.ts';
import { PAGE_BYTES } from '../base/bytes.ts';
import { allocateSharedPages, MEMORY_PAGE_BYTES } from '../base/page-memory.ts';
import { RING_BYTES_MAX, SLOT_BYTES_MAX, SLOT_BYTES_MIN, SLOTS_MAX, SLOTS_MIN } from '../limits/limits.ts';

export interface RingGeometry {
  readonly slots: number;
  /** A multiple of 64 KiB. */
  readonly slotBytes: number;
}

/** The shared words take the first memory page; slots stay aligned behind it. */
export const CONTROL_BYTES: number = MEMORY_PAGE_BYTES;

/** Position of the first block in a slot: behind the page that holds the file's header. */
export const FIRST_BLOCK_POSITION: number = PAGE_BYTES;

/**
 * A log position is `slotSequence * SLOT_SPAN + position`: one number that orders every byte a lane ever wrote, with
 * room for 2^24 fillings of the largest slot.
 */
export const SLOT_SPAN: number = SLOT_BYTES_MAX;

/** What keeps a geometry from being used; `undefined` when nothing does. */
export function geometryProblem({ slots, slotBytes }: RingGeometry): string | undefined {
  if (!Number.isInteger(slots) || slots < SLOTS_MIN || slots > SLOTS_MAX) return 'slots out of range';
  if (!(slotBytes >= SLOT_BYTES_MIN && slotBytes <= SLOT_BYTES_MAX)) return 'slotBytes out of range';
  if (slotBytes % MEMORY_PAGE_BYTES !== 0) return 'slotBytes is not a multiple of 64 KiB';
  if (slots * slotBytes > RING_BYTES_MAX) return 'the ring is too large';
  return undefined;
}

export function checkGeometry(geometry: RingGeometry): void {
  const problem = geometryProblem(geometry);
  assert(problem === undefined, problem ?? '');
}

/** Allocates a ring, page aligned so that its blocks can be written with direct I/O. */
export function allocateRing(geometry: RingGeometry): SharedArrayBuffer {
  checkGeometry(geometry);
  return allocateSharedPages(CONTROL_BYTES + geometry.slots * geometry.slotBytes);
}

/** Which slot holds a filling. */
export function slotIndexOf(geometry: RingGeometry, slotSequence: number): number {
  return slotSequence % geometry.slots;
}

/** Where a filling begins in the ring's memory. */
export function slotBase(geometry: RingGeometry, slotSequence: number): number {
  return CONTROL_BYTES + slotIndexOf(geometry, slotSequence) * geometry.slotBytes;
}

/** The largest payload that one block can carry. */
export function blockPayloadMax(geometry: RingGeometry, blockHeaderBytes: number): number {
  return geometry.slotBytes - FIRST_BLOCK_POSITION - blockHeaderBytes;
}

export function logPosition(slotSequence: number, position: number): number {
  return slotSequence * SLOT_SPAN + position;
}

/** Where the byte at a log position lies in the ring's memory. */
export function ringPosition(geometry: RingGeometry, log: number): number {
  const slotSequence = Math.floor(log / SLOT_SPAN);
  return slotBase(geometry, slotSequence) + (log - slotSequence * SLOT_SPAN);
}
