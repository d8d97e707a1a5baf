import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { suite, test } from 'node:test';
import { onAbort } from '../../src/base/abort-listeners.ts';
import { collect, openStore } from '../support/test-store.ts';

suite('abort listeners', () => {
  test('many that wait for one signal share a listener, which goes with the last of them', () => {
    const controller = new AbortController();
    const { signal } = controller;
    const stopped: number[] = [];
    const same = (): void => {
      stopped.push(-1);
    };
    const forget = [0, 1, 2].map((index) => onAbort(signal, () => stopped.push(index)));
    forget.push(onAbort(signal, same), onAbort(signal, same));
    assert.equal(getEventListeners(signal, 'abort').length, 1);
    forget[1]?.();
    forget[1]?.();
    forget[3]?.();
    controller.abort();
    assert.deepEqual(stopped, [0, 2, -1]);
    assert.equal(getEventListeners(signal, 'abort').length, 0);

    const other = new AbortController();
    for (let round = 0; round < 3; round += 1) {
      const done = onAbort(other.signal, () => stopped.push(round));
      assert.equal(getEventListeners(other.signal, 'abort').length, 1);
      done();
      assert.equal(getEventListeners(other.signal, 'abort').length, 0);
    }
    other.abort();
    assert.equal(stopped.length, 3);
  });

  test('a hundred calls with one signal warn of no leak, and leave nothing at the signal', async (t) => {
    const warnings: Error[] = [];
    const note = (warning: Error): number => warnings.push(warning);
    process.on('warning', note);
    t.after(() => process.off('warning', note));
    const { signal } = new AbortController();
    const stream = await (await openStore(t)).stream('s');
    await Promise.all(Array.from({ length: 100 }, (_, index) => stream.append(String(index), { signal })));
    const readings = Array.from({ length: 100 }, () => collect(stream.read({ limit: 100, follow: true, signal })));
    for (const records of await Promise.all(readings)) assert.equal(records.length, 100);
    assert.equal(getEventListeners(signal, 'abort').length, 0);
    assert.deepEqual(warnings, []);
  });
});
