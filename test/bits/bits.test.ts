/** A part of all the damage that can happen to a file; `npm run test:bits` does the rest. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { everySubject, Sweep, sweepFrom } from './sweep.ts';

const CASES_PER_FILE = 60;

suite('damage to a file of a golden store', () => {
  test('is reported, or repaired, and costs nothing that is intact', async () => {
    const subjects = await everySubject();
    for (const subject of subjects) {
      const sweep = new Sweep(subject, 1);
      for (let index = 0; index < CASES_PER_FILE; index += 1) await sweep.next();
    }
    const kinds = ['.wal', 'of other stores', '.seg', '.log', '.snapshot', 'CURRENT', 'STORE', '.clean'];
    for (const kind of kinds)
      assert.ok(
        subjects.some(({ name }) => name.endsWith(kind)),
        `a file ${kind}`,
      );
  });

  test('that is not noticed fails the sweep, and is named', async () => {
    const [subject] = await everySubject();
    assert.ok(subject !== undefined);
    const blind = { ...subject, check: () => assert.fail('believed') };
    await assert.rejects(new Sweep(blind, 1).run(8), /case 8, bit 0 of byte 1 flipped: believed/);
  });

  test('comes in every place once', async () => {
    let flips = 0;
    const subject = { name: 'a file', bytes: new Uint8Array(64), donors: [], check: () => void (flips += 1) };
    const sweep = new Sweep(subject, 12_345);
    while (await sweep.next());
    assert.equal(flips, sweep.count);
  });

  test('goes on at any case in the list of all files, and leaves none out', async () => {
    const ran: string[] = [];
    const sweeps = ['left', 'right'].map((name) => {
      const check = (): void => void ran.push(name);
      return new Sweep({ name, bytes: new Uint8Array(4), donors: [], check }, 1);
    });
    const [left = 0, right = 0] = sweeps.map(({ count }) => count);
    const numbers: number[] = [];
    for await (const number of sweepFrom(sweeps, left - 2)) numbers.push(number);
    assert.deepEqual(
      numbers,
      Array.from({ length: right + 2 }, (_, index) => left - 2 + index),
    );
    assert.deepEqual(ran, ['left', 'left', ...Array<string>(right).fill('right')]);
  });
});
