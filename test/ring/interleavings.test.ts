/** Every order in which producer and WAL worker can meet at the words they share. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SeededRandom } from '../../src/base/random.ts';
import { type Access, EveryOrder, RandomOrders } from './interleaving/explorer.ts';
import { explore } from './interleaving/model.ts';
import { SCENARIOS } from './interleaving/scenarios.ts';

/** Of larger scenarios, `npm run test:interleavings` runs every order. */
const SMALL = ['one block and the end', 'a disk that fails at once'];
const ORDERS_DRAWN = 100;

describe('in whatever order their accesses fall, producer and WAL worker', () => {
  for (const [name, scenario] of Object.entries(SCENARIOS)) {
    const every = SMALL.includes(name);
    it(`agree on ${name}`, async (t) => {
      const orders = every ? new EveryOrder() : new RandomOrders(ORDERS_DRAWN, new SeededRandom(1));
      const runs = await explore(scenario, orders);
      t.diagnostic(`${runs} orders${every ? ', which are all' : ''}`);
      assert.ok(runs > 10, 'there is more than one order');
    });
  }
});

describe('the explorer', () => {
  /** Each thread accesses its words in turn, one access a step. */
  function orders(threads: readonly (readonly Access[])[]): { found: string[]; runs: number } {
    const explorer = new EveryOrder();
    const found: string[] = [];
    do {
      const next = threads.map(() => 0);
      let order = '';
      for (;;) {
        const enabled = threads.flatMap((accesses, thread) => ((next[thread] ?? 0) < accesses.length ? [thread] : []));
        if (enabled.length === 0) break;
        const thread = explorer.choose(enabled);
        const access = threads[thread]?.[next[thread] ?? 0];
        assert.ok(access !== undefined);
        next[thread] = (next[thread] ?? 0) + 1;
        order += String(thread);
        explorer.record([access]);
      }
      found.push(order);
    } while (explorer.next());
    return { found, runs: explorer.runs };
  }
  const write = (word: number): Access => ({ word, writes: true });
  const read = (word: number): Access => ({ word, writes: false });

  it('tries all orders of accesses to one word', () => {
    const { found, runs } = orders([
      [write(1), write(1)],
      [write(1), read(1)],
    ]);
    assert.equal(runs, found.length);
    assert.deepEqual(found.sort(), ['0011', '0101', '0110', '1001', '1010', '1100']);
  });

  it('tries one order where all come to the same', () => {
    const { runs } = orders([
      [write(1), read(3)],
      [write(2), read(3)],
    ]);
    assert.equal(runs, 1);
  });

  it('finds both outcomes of a race among accesses that do not matter', () => {
    const { found, runs } = orders([
      [read(5), write(1), read(5)],
      [read(6), read(1), read(6)],
    ]);
    const second = (order: string, thread: string): number => order.indexOf(thread, order.indexOf(thread) + 1);
    assert.deepEqual([...new Set(found.map((order) => second(order, '0') < second(order, '1')))].sort(), [false, true]);
    assert.equal(runs, 2);
  });
});
