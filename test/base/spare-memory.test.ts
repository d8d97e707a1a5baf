import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allocatePages, isInPages } from '../../src/base/page-memory.ts';
import { SpareMemory } from '../../src/base/spare-memory.ts';

test('memory that was given back is handed out again where it is large enough', () => {
  const memory = new SpareMemory();
  const first = memory.buffer(100, 1_000);
  assert.equal(first.length, 100);
  memory.recycle(first);
  const second = memory.buffer(1_000);
  assert.equal(second.buffer, first.buffer);
  memory.recycle(second);
  assert.notEqual(memory.buffer(1_001).buffer, first.buffer);
});

test('memory that is in use is never handed out, also when it is given back twice', () => {
  const memory = new SpareMemory();
  const one = memory.buffer(10);
  assert.notEqual(memory.buffer(10).buffer, one.buffer);
  memory.recycle(one);
  memory.recycle(one);
  assert.equal(memory.buffer(10).buffer, one.buffer);
  assert.notEqual(memory.buffer(10).buffer, one.buffer);
});

test('of memory from elsewhere, only what is whole is taken: a part belongs to others too', () => {
  const memory = new SpareMemory();
  const whole = new Uint8Array(64);
  memory.recycle(whole.subarray(0, 32));
  memory.recycle(Buffer.from('pooled by Node'));
  memory.recycle(new Uint8Array(new SharedArrayBuffer(64)));
  memory.recycle(new Uint8Array(0));
  assert.notEqual(memory.buffer(8).buffer, whole.buffer);
  memory.recycle(whole);
  assert.equal(memory.buffer(8).buffer, whole.buffer);
});

test('no more pieces are kept than were asked for, and the oldest goes first', () => {
  const memory = new SpareMemory(2);
  const pieces = [1, 2, 3].map(() => memory.buffer(8));
  for (const piece of pieces) memory.recycle(piece);
  assert.equal(memory.buffer(8).buffer, pieces[1]?.buffer);
  assert.equal(memory.buffer(8).buffer, pieces[2]?.buffer);
  assert.ok(!pieces.some(({ buffer }) => buffer === memory.buffer(8).buffer));
});

test('of more than is kept, the smallest goes', () => {
  const memory = new SpareMemory(2);
  const pieces = [64, 8, 32].map((bytes) => memory.buffer(bytes));
  for (const piece of pieces) memory.recycle(piece);
  assert.equal(memory.buffer(8).buffer, pieces[0]?.buffer);
  assert.equal(memory.buffer(8).buffer, pieces[2]?.buffer);
  assert.ok(!pieces.some(({ buffer }) => buffer === memory.buffer(8).buffer));
});

test('memory of the allocation that it was given is used again as well', () => {
  const memory = new SpareMemory(1, allocatePages);
  const piece = memory.buffer(10);
  assert.ok(isInPages(piece));
  memory.recycle(piece);
  assert.equal(memory.buffer(10).buffer, piece.buffer);
});
