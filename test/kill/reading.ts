/** A stream read whole, in one piece. */
import { isMillraceError, type Store, type Stream } from '../../src/index.ts';
import type { Content } from './expectation.ts';

type StreamInfo = Awaited<ReturnType<Stream['info']>>;

/** Nobody appends. Retention may go on, though: what is returned was there at one moment. */
export async function readWhole(stream: Stream): Promise<{ readonly info: StreamInfo; readonly content: Content }> {
  for (;;) {
    const content = await readOnce(stream);
    const info = await stream.info();
    const [first] = content ?? [];
    if (content !== undefined && (first === undefined || info.firstOffset <= first.offset)) return { info, content };
  }
}

/** `undefined`: retention took records from under the reader. */
async function readOnce(stream: Stream): Promise<Content | undefined> {
  const content: { offset: number; value: string }[] = [];
  try {
    for await (const { offset, value } of stream.read()) content.push({ offset, value: value?.toString() ?? '' });
  } catch (error) {
    if (isMillraceError(error, 'ERR_MILLRACE_OFFSET_OUT_OF_RANGE')) return undefined;
    throw error;
  }
  return content;
}

/** All streams of a store, by name. */
export async function contentsOf(store: Store): Promise<Map<string, Content>> {
  const contents = new Map<string, Content>();
  for (const { name } of await store.streams()) {
    contents.set(name, (await readWhole(await store.stream(name))).content);
  }
  return contents;
}
