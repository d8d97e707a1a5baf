/**
 * A process that publishes and knows nothing of what it published before: it sends every id from 1 on, again and again
 * until it is killed, through several publishers at once. Arguments: directory, seed, highest id. Prints each id whose
 * answer came.
 */
import { SeededRandom } from '../../src/base/random.ts';
import { open, type Stream } from '../../src/index.ts';
import { PUBLISHERS, valueOf } from './published-values.ts';

const [dir = '', seed = '', highest = ''] = process.argv.slice(2);
const random = new SeededRandom(Number(seed));
const store = await open({ dir, wal: { slots: 3, slotBytes: 64 * 1024, flushInterval: 50 } });
const stream = await store.stream('a');

async function publish(to: Stream, name: string): Promise<void> {
  const publisher = to.publisher(name);
  let next = 1;
  const sent: Promise<unknown>[] = [];
  while (next <= Number(highest)) {
    const count = Math.min(1 + random.below(20), Number(highest) + 1 - next);
    const records = Array.from({ length: count }, (_, index) => ({
      publishingId: next + index,
      value: valueOf(name, next + index),
    }));
    const last = next + count - 1;
    // Some ids are sent twice at once, as a client does that gave up waiting.
    const answers = [publisher.appendMany(records)];
    if (random.below(4) === 0) answers.push(publisher.appendMany(records.slice(random.below(count))));
    for (const answer of answers) sent.push(answer.then(() => process.stdout.write(`${name} ${last}\n`)));
    next += count;
    if (random.below(3) === 0) await Promise.all(sent.splice(0));
  }
  await Promise.all(sent);
}

await Promise.all(PUBLISHERS.map((name) => publish(stream, name)));
await store.flush();
process.stdout.write('all sent\n');
setInterval(() => undefined, 1_000);
