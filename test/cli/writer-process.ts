/**
 * A process that has a store open for writing and never flushes by itself. Arguments: directory, stream, records to put
 * into segments, records to leave in the log. Says `ready` once all are durable.
 */
import { open } from '../../src/index.ts';
import { SMALL_WAL } from './store-fixture.ts';

const [dir = '', name = '', settled = '', unflushed = ''] = process.argv.slice(2);
const store = await open({ dir, wal: { ...SMALL_WAL, flushInterval: 600_000 } });
const stream = await store.stream(name);
await stream.appendMany(Array.from({ length: Number(settled) }, (_, index) => `value ${index}`));
await store.flush();
// One block each: damage in the middle has something behind it.
for (let index = 0; index < Number(unflushed); index += 1) await stream.append(`value ${Number(settled) + index}`);
console.log('ready');
setInterval(() => undefined, 1_000);
