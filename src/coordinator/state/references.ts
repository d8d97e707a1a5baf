/** Changes to what a stream knows of its consumers and publishers. */
import { assert } from '../../base/assert.ts';
import { PUBLISHERS_MAX, REFERENCES_MAX } from '../../limits/limits.ts';
import type { OffsetsStored, PublishersMarked } from './event.ts';
import type { StreamRow } from './rows.ts';

/** Consumers below the log start go with the next change of any: nobody is told of them meanwhile. */
export function storeOffsets(stream: StreamRow, { stored, removed }: OffsetsStored): void {
  const { consumers } = stream;
  for (const reference of removed) consumers.delete(reference);
  for (const { reference, offset } of stored) consumers.set(reference, offset);
  for (const [reference, offset] of consumers) if (offset < stream.firstOffset) consumers.delete(reference);
  assert(consumers.size <= REFERENCES_MAX, 'the number of consumers was judged before');
}

export function markPublishers(stream: StreamRow, { marks, forgotten }: PublishersMarked): void {
  const { publishers } = stream;
  for (const { reference, publishingId, offset } of marks) {
    assert(offset < stream.nextOffset, 'a mark names a committed record');
    if (!publishers.has(reference)) stream.publisherCount += 1;
    publishers.set(reference, { publishingId, offset });
  }
  for (const reference of forgotten) {
    assert(publishers.delete(reference), 'only a publisher that is there is forgotten');
    stream.publisherCount -= 1;
  }
  assert(stream.publisherCount <= PUBLISHERS_MAX, 'the number of publishers was judged before');
}
