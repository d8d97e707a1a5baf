/** Pieces of page-aligned memory: none overlaps another, and all of it can be taken again. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { PAGE_BYTES } from '../../src/base/bytes.ts';
import { PageArena } from '../../src/base/page-arena.ts';
import { isInPages } from '../../src/base/page-memory.ts';

const BYTES: number = 16 * PAGE_BYTES;

suite('an arena of pages', () => {
  test('gives pieces that keep what was written to them until they are given back', () => {
    const step = fc.record({ take: fc.boolean(), bytes: fc.integer({ min: 1, max: 6 * PAGE_BYTES }), which: fc.nat() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const arena = new PageArena(BYTES);
        const held: { readonly piece: Uint8Array; readonly mark: number }[] = [];
        for (const [index, { take, bytes, which }] of steps.entries()) {
          if (take) {
            const piece = arena.take(bytes);
            assert.equal(piece.length, bytes);
            held.push({ piece: piece.fill(index), mark: index });
          } else if (held.length > 0) {
            const [gone] = held.splice(which % held.length, 1);
            if (gone !== undefined) arena.giveBack(gone.piece);
          }
          for (const { piece, mark } of held) assert.ok(piece.every((byte) => byte === mark));
        }
        for (const { piece } of held) arena.giveBack(piece);
        const whole = arena.take(BYTES);
        assert.equal(whole.byteOffset % PAGE_BYTES, 0);
        assert.ok(whole.buffer.byteLength >= BYTES, 'all of it is one piece again');
        arena.giveBack(whole);
        arena.close();
      }),
      { numRuns: 50 },
    );
  });

  test('takes a piece back once', () => {
    const arena = new PageArena(BYTES);
    const piece = arena.take(PAGE_BYTES);
    arena.giveBack(piece);
    assert.throws(() => arena.giveBack(piece), { name: 'AssertionError' });
  });

  test('gives other memory where no gap is large enough', () => {
    const arena = new PageArena(BYTES);
    const first = arena.take(BYTES);
    const other = arena.take(PAGE_BYTES);
    assert.notEqual(other.buffer, first.buffer);
    assert.deepEqual([isInPages(first), isInPages(other)], [true, false]);
    arena.giveBack(other);
    arena.giveBack(first);
  });

  test('leaves its memory to the next one of the thread, and never to two', () => {
    const first = new PageArena(BYTES);
    const { buffer } = first.take(PAGE_BYTES);
    const piece = first.take(PAGE_BYTES);
    first.giveBack(new Uint8Array(buffer, 0, PAGE_BYTES));
    first.close();
    const meanwhile = new PageArena(BYTES);
    assert.notEqual(meanwhile.take(1).buffer, buffer, 'a piece of it is still being written to');
    first.giveBack(piece);
    assert.equal(new PageArena(BYTES).take(1).buffer, buffer);
    assert.notEqual(new PageArena(BYTES).take(1).buffer, buffer);
  });

  test('leaves all of its memory to the next one, also where it had asked for less', () => {
    const first = new PageArena(32 * BYTES);
    const piece = first.take(1);
    const { buffer } = piece;
    first.giveBack(piece);
    first.close();
    for (const bytes of [BYTES, 2 * BYTES, 32 * BYTES]) {
      const next = new PageArena(bytes);
      const whole = next.take(32 * BYTES);
      assert.equal(whole.buffer, buffer, `an arena of ${bytes} bytes`);
      next.giveBack(whole);
      next.close();
    }
  });
});
