/**
 * Every bound of the engine in one place, with the relations between them checked at load.
 * What a user may change is an option whose default and range refer to these.
 */
import { assert } from '../base/assert.ts';
import { PAGE_BYTES } from '../base/bytes.ts';

export const KIB: number = 1024;
export const MIB: number = 1024 * KIB;
export const GIB: number = 1024 * MIB;

/** UTF-8 bytes of a stream name. */
export const STREAM_NAME_BYTES_MAX = 255;
/** UTF-8 bytes of a consumer or publisher reference: its length is one byte on disk. */
export const REFERENCE_BYTES_MAX = 255;
/** Bytes of a record's key. */
export const KEY_BYTES_MAX: number = 64 * KIB;

/** A ring has at least two slots: one fills while another is flushed. */
export const SLOTS_MIN = 2;
export const SLOTS_MAX = 64;
export const SLOTS_DEFAULT = 4;
export const SLOT_BYTES_MIN: number = 64 * KIB;
/** Positions in a slot are unsigned 32-bit; the whole ring must fit one WebAssembly memory of 4 GiB. */
export const SLOT_BYTES_MAX: number = 512 * MIB;
export const SLOT_BYTES_DEFAULT: number = 32 * MIB;
export const RING_BYTES_MAX: number = 2 * GIB;

/** The producer closes a block when it holds this much, so that the WAL worker can start on it. */
export const BLOCK_BYTES_TARGET: number = MIB;
/** The most the WAL worker writes in one call. */
export const WRITE_BYTES_MAX: number = 8 * MIB;

/** Uncompressed bytes of a chunk's frames; a single larger record makes a larger chunk (docs/decisions/0013). */
export const CHUNK_RAW_BYTES_TARGET: number = 64 * KIB;
/** No chunk is larger, whatever its header claims: checked before anything is allocated. */
export const CHUNK_RAW_BYTES_MAX: number = SLOT_BYTES_MAX;
/** Tracking that rides on a records chunk, uncompressed. */
export const CHUNK_TRAILER_BYTES_MAX: number = 64 * MIB;
/** Offsets, with or without a record, that one chunk covers: its header counts them in 32 bits. */
export const CHUNK_OFFSETS_MAX: number = 2 ** 32 - 1;
/** Runs and chunks of one segment: they bound the footer, which is read whole. */
export const SEGMENT_RUNS_MAX: number = 2 ** 20;
export const SEGMENT_CHUNKS_MAX: number = 2 ** 22;
/** No segment or object is larger: checked before a footer's claims are believed. */
export const OBJECT_BYTES_MAX: number = 64 * GIB;

/** Keys of one reservation: enough for any writer, and few enough for one answer of a coordinator. */
export const RESERVATION_COUNT_MAX = 100_000;

/**
 * Without a WAL: how many objects are under way, how large they get, and how long one waits for more (milliseconds).
 */
export const DISKLESS_SLOTS_DEFAULT = 8;
export const DISKLESS_SLOT_BYTES_DEFAULT: number = 8 * MIB;
export const DISKLESS_INTERVAL_DEFAULT = 250;

/** Lanes of producers in other threads: each takes a ring of memory, and as much disk. */
export const PRODUCERS_MAX = 64;

export const RECORD_BYTES_DEFAULT: number = 16 * MIB;
export const QUEUED_BYTES_DEFAULT: number = 64 * MIB;
export const CACHE_BYTES_DEFAULT: number = 32 * MIB;
export const FLUSH_INTERVAL_DEFAULT = 10_000;

assert(BLOCK_BYTES_TARGET % PAGE_BYTES === 0, 'a block target is whole pages');
assert(WRITE_BYTES_MAX >= BLOCK_BYTES_TARGET, 'one write takes at least one block');
assert(SLOT_BYTES_MAX * SLOTS_MIN <= RING_BYTES_MAX, 'the largest slot still allows a ring');
assert(CHUNK_RAW_BYTES_TARGET < 2 ** 32 && CHUNK_RAW_BYTES_MAX < 2 ** 32, 'chunk lengths are 32-bit');

/** A frame is closed when it holds this much, so that a point read decodes little and chunks fill evenly. */
export const FRAME_BYTES_TARGET: number = 64 * KIB;
assert(FRAME_BYTES_TARGET <= CHUNK_RAW_BYTES_TARGET, 'a chunk takes at least one usual frame');

/** Consumer references of a stream: one more is refused. */
export const REFERENCES_MAX = 65_536;
/** Publishers that a stream remembers: with one more, the one that published least recently is forgotten. */
export const PUBLISHERS_MAX = 65_536;
/** Tracking in one frame: it fits the smallest slot, and a large state takes several frames. */
export const TRACKING_FRAME_BYTES_MAX: number = 16 * KIB;
assert(TRACKING_FRAME_BYTES_MAX + 4 * PAGE_BYTES <= SLOT_BYTES_MIN, 'a tracking frame fits the smallest slot');
/** Runs with tracking since the last snapshot: they bound what opening a stream reads. */
export const TRACKING_RUNS_MAX = 256;
