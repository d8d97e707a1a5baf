/** What editors put in front of the text of lines. */

const BYTE_ORDER_MARK: Buffer = Buffer.from([0xef, 0xbb, 0xbf]);

/** The chunks without the mark that some editors begin a file of UTF-8 with. Holds back only what may be a mark. */
export async function* withoutByteOrderMark(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let start: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of chunks) {
    if (start === undefined) {
      yield chunk;
      continue;
    }
    // Lines are cut where a chunk lies: it is copied only if it begins before.
    start = start.length === 0 ? chunk : Buffer.concat([start, chunk]);
    if (start.length < BYTE_ORDER_MARK.length && BYTE_ORDER_MARK.subarray(0, start.length).equals(start)) {
      start = Buffer.from(start);
      continue;
    }
    const isMarked = start.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
    yield isMarked ? start.subarray(BYTE_ORDER_MARK.length) : start;
    start = undefined;
  }
  if (start !== undefined && start.length > 0) yield start;
}
