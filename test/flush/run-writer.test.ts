/** Where a flush puts tracking: rules that loading a stream relies on. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decodeTracking, TRACKING_ENTRY, type TrackingEntry } from '../../src/record/tracking-format.ts';
import { TrackingState } from '../../src/record/tracking-state.ts';
import { CHUNK_TYPE } from '../../src/segment/chunk-format.ts';
import type { DecodedChunk } from '../../src/segment/chunk-reader.ts';
import { FlushedStream } from '../support/flushed-stream.ts';

const ENTRY: TrackingEntry = { type: TRACKING_ENTRY.offset, reference: 'a', offset: 0 };

function shapeOf(chunks: readonly DecodedChunk[]): string[] {
  return chunks.map(({ header, trailer }) => {
    if (header.type === CHUNK_TYPE.trackingSnapshot) return 'snapshot';
    if (header.type === CHUNK_TYPE.trackingDelta) return 'delta';
    return trailer.length > 0 ? 'records and trailer' : 'records';
  });
}

/** A record large enough for a chunk of its own. */
const LARGE = 'x'.repeat(200_000);

test('tracking rides on the last records chunk of a run', async () => {
  const stream = await FlushedStream.open();
  stream.log.append([LARGE]);
  stream.log.track([ENTRY]);
  stream.log.append([LARGE]);
  stream.log.append([LARGE]);
  const chunks = await stream.flush();
  assert.deepEqual(shapeOf(chunks), ['records', 'records', 'records and trailer']);
  assert.deepEqual(decodeTracking(chunks[2]?.trailer ?? new Uint8Array(0)), [ENTRY]);
});

test('a run without records has one delta chunk', async () => {
  const stream = await FlushedStream.open();
  stream.log.append(['x']);
  await stream.flush();
  for (let offset = 0; offset < 3; offset += 1) stream.log.track([ENTRY]);
  const chunks = await stream.flush();
  assert.deepEqual(shapeOf(chunks), ['delta']);
  assert.deepEqual(decodeTracking(chunks[0]?.body ?? new Uint8Array(0)), [ENTRY]);
  assert.equal(chunks[0]?.header.firstOffset, 1);
});

test('a snapshot is the first chunk, and nothing else of its run carries tracking', async () => {
  const stream = await FlushedStream.open();
  stream.log.append([LARGE]);
  stream.log.track([ENTRY]);
  stream.log.append([LARGE]);
  const chunks = await stream.flush([ENTRY]);
  assert.deepEqual(shapeOf(chunks), ['snapshot', 'records', 'records']);
});

test('tracking consumes no offset and counts as tracking, exactly', async () => {
  const stream = await FlushedStream.open();
  for (let round = 0; round < 4; round += 1) {
    if (round % 2 === 0) stream.log.append([`record ${round}`]);
    stream.log.track([ENTRY]);
    await stream.flush(round === 3 ? [ENTRY] : undefined);
  }
  const totals = await stream.coordinator.streamTotals(stream.streamId);
  assert.deepEqual([totals.nextOffset, totals.records, totals.userBytes], [2, 2, 16]);
  // Two trailers of 11 bytes; a delta and a snapshot are whole chunks.
  assert.equal(totals.trackingBytes, 2 * 11 + 2 * 104);
});

test('a truncation that nothing follows raises the epoch of its run', async () => {
  const stream = await FlushedStream.open();
  stream.log.append(['0', '1', '2']);
  stream.log.truncate(2);
  await stream.flush();
  const { epoch, nextOffset, records } = await stream.coordinator.streamTotals(stream.streamId);
  assert.deepEqual([epoch, nextOffset, records], [1, 2, 2]);
  stream.log.track([ENTRY]);
  await stream.flush();
  stream.log.truncate(1);
  await stream.flush();
  stream.log.append(['1 again']);
  await stream.flush();
  assert.equal((await stream.coordinator.streamTotals(stream.streamId)).epoch, 2);
});

test('whatever is flushed and cut, the coordinator takes it and opening finds what the log says', async () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant('append' as const), count: fc.integer({ min: 1, max: 4 }), publisher: fc.boolean() }),
    fc.record({ do: fc.constant('truncate' as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
    fc.record({
      do: fc.constant('store' as const),
      reference: fc.constantFrom('a', 'b'),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
    fc.record({ do: fc.constant('flush' as const), snapshot: fc.boolean() }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const stream = await FlushedStream.open();
      const { log, coordinator } = stream;
      const truth = new TrackingState();
      let publishingId = 0;
      for (const move of [...steps, { do: 'flush' as const, snapshot: false }]) {
        if (move.do === 'append') {
          const values = Array.from({ length: move.count }, (_, index) => `${log.epoch}/${log.nextOffset + index}`);
          publishingId += 1;
          log.append(values, move.publisher ? { reference: 'p', publishingId } : undefined);
          if (move.publisher) truth.published('p', publishingId, log.nextOffset - 1);
        } else if (move.do === 'truncate') {
          log.truncate(Math.round(move.share * log.nextOffset));
          truth.cut(log.nextOffset);
        } else if (move.do === 'store') {
          if (log.nextOffset === 0) continue;
          const entry = {
            type: TRACKING_ENTRY.offset,
            reference: move.reference,
            offset: Math.floor(move.share * (log.nextOffset - 1)),
          };
          log.track([entry]);
          truth.apply([entry]);
        } else {
          if (log.positions.length === 0) continue;
          await stream.flush(move.snapshot ? truth.snapshot() : undefined);
          const totals = await coordinator.streamTotals(stream.streamId);
          assert.deepEqual(
            [totals.nextOffset, totals.epoch, totals.records],
            [log.nextOffset, log.epoch, log.nextOffset],
          );
          const { state } = await stream.load();
          assert.deepEqual([...state.offsets].sort(), [...truth.offsets].sort());
          assert.deepEqual([...state.publishers], [...truth.publishers]);
          assert.deepEqual(await coordinator.verify(), []);
        }
      }
    }),
    { numRuns: 150 },
  );
});
