/**
 * The process that is going to be killed: appends without a pause, and takes one backup after the other. Arguments: the
 * store's directory and the target. Prints how many records are acknowledged before each backup, and its number after.
 */
import { open } from '../../src/index.ts';

const [dir = '', target = ''] = process.argv.slice(2);
const store = await open({ dir, wal: { slots: 2, slotBytes: 64 * 1024, flushInterval: 50 } });
const stream = await store.stream('s');
let acknowledged = (await stream.info()).nextOffset;

async function append(): Promise<never> {
  for (;;) {
    const values = Array.from({ length: 20 }, (_, index) => `record ${acknowledged + index}`);
    await stream.appendMany(values);
    acknowledged += values.length;
  }
}

async function backUp(): Promise<never> {
  for (;;) {
    const before = acknowledged;
    process.stdout.write(`start ${before}\n`);
    const { backup } = await store.backup(target, { keep: 3 });
    process.stdout.write(`done ${backup} ${before}\n`);
    if (backup % 3 === 0) await store.compact({ force: true });
  }
}

await Promise.all([append(), backUp()]);
