/** A thread with a producer, told by messages what to do. */
import { parentPort, workerData } from 'node:worker_threads';
import { attachProducer, isMillraceError, type ProducerHandle, type ProducerStream } from '../../../src/index.ts';
import type { Answer, Order } from './producer-worker.ts';

const port = parentPort;
if (port === null) throw new Error('producer-thread runs as a worker thread');
const producer = await attachProducer((workerData as { handle: ProducerHandle }).handle);
const streams = new Map<string, ProducerStream>();

function streamOf(name: string): ProducerStream {
  const stream = streams.get(name);
  if (stream === undefined) throw new Error(`${name} was not opened`);
  return stream;
}

async function obey(order: Order): Promise<unknown> {
  switch (order.type) {
    case 'stream':
      streams.set(order.name, await producer.stream(order.name));
      return undefined;
    case 'append':
      return Promise.all(order.values.map((value) => streamOf(order.name).append(value)));
    case 'appendMany': {
      const first = await streamOf(order.name).appendMany(order.values);
      if (order.done !== undefined) {
        Atomics.add(order.done, 0, 1);
        Atomics.notify(order.done, 0);
      }
      return first;
    }
    case 'publish': {
      const publisher = streamOf(order.name).publisher(order.reference);
      // One by one and all at once: their order is that of the calls.
      return Promise.all(order.ids.map((id) => publisher.append(id, `${order.reference}-${id}`)));
    }
    case 'release':
      return streamOf(order.name).release();
    case 'close':
      return producer.close();
    case 'spin': {
      const until = performance.now() + order.milliseconds;
      while (performance.now() < until);
      return undefined;
    }
  }
}

port.on('message', (order: Order & { readonly id: number }) => {
  const answer = (reply: Omit<Answer, 'id'>): void => {
    port.postMessage({ id: order.id, ...reply });
  };
  obey(order).then(
    (value) => {
      answer({ value });
    },
    (error: unknown) => {
      answer({ code: isMillraceError(error) ? error.code : String(error) });
    },
  );
});
port.postMessage({ id: 0, value: 'ready' });
