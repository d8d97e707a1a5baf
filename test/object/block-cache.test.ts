import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { BlockCache } from '../../src/object/block-cache.ts';

const MAX_BYTES = 100;
const MAX_OBJECTS = 3;

/** The same cache, written to be obviously right: one list in order of use for blocks, one for objects. */
class Model {
  objects: string[] = [];
  blocks: { id: string; key: string; bytes: number }[] = [];

  use(key: string): void {
    this.objects = [...this.objects.filter((other) => other !== key), key];
    while (this.objects.length > MAX_OBJECTS) this.forget(this.objects[0] ?? '');
  }

  forget(key: string): void {
    this.objects = this.objects.filter((other) => other !== key);
    this.blocks = this.blocks.filter((block) => block.key !== key);
  }

  keep(key: string, index: number, bytes: number): void {
    const id = `${key}#${index}`;
    if (bytes > MAX_BYTES || this.blocks.some((block) => block.id === id)) return;
    this.blocks.push({ id, key, bytes });
    while (this.bytes() > MAX_BYTES) this.blocks.shift();
  }

  touch(key: string, index: number): boolean {
    const found = this.blocks.find((block) => block.id === `${key}#${index}`);
    if (found !== undefined) this.blocks = [...this.blocks.filter((block) => block !== found), found];
    return found !== undefined;
  }

  bytes(): number {
    return this.blocks.reduce((sum, block) => sum + block.bytes, 0);
  }
}

const action = fc.record({
  kind: fc.constantFrom('keep', 'get', 'forget'),
  key: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
  index: fc.integer({ min: 0, max: 4 }),
  bytes: fc.integer({ min: 1, max: 120 }),
});

test('any history leaves the blocks that a plain list in order of use would keep', () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 200 }), (actions) => {
      const cache = new BlockCache(MAX_BYTES, MAX_OBJECTS);
      const model = new Model();
      for (const { kind, key, index, bytes } of actions) {
        if (kind === 'forget') {
          cache.forget(key);
          model.forget(key);
        } else if (kind === 'keep') {
          cache.keep(cache.remember(key, 1000), index, new Uint8Array(bytes));
          model.use(key);
          model.keep(key, index, bytes);
        } else {
          const object = cache.object(key);
          assert.equal(object !== undefined, model.objects.includes(key));
          if (object !== undefined) {
            model.use(key);
            assert.equal(cache.block(object, index) !== undefined, model.touch(key, index));
          }
        }
        assert.equal(cache.bytes, model.bytes());
        assert.ok(cache.bytes <= MAX_BYTES);
      }
      cache.clear();
      assert.equal(cache.bytes, 0);
    }),
  );
});

test('a block that arrives after its object was forgotten is not kept', () => {
  const cache = new BlockCache(MAX_BYTES, MAX_OBJECTS);
  const before = cache.remember('a', 10);
  cache.forget('a');
  cache.keep(before, 0, new Uint8Array(10));
  assert.equal(cache.bytes, 0);
  const after = cache.remember('a', 10);
  assert.equal(cache.block(after, 0), undefined);
});
