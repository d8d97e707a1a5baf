/** What a command that reads segments does not see, told in a sentence. */
import { inspectLog } from './log-inspection.ts';
import { counted } from './text.ts';

/** `undefined` when every durable record of the stream is in segments. */
export async function unflushedNote(dir: string, stream: string): Promise<string | undefined> {
  const { unflushed } = await inspectLog(dir, 'unflushed');
  const records = unflushed.get(stream) ?? 0;
  if (records === 0) return undefined;
  const verb = records === 1 ? 'is' : 'are';
  return (
    `${counted(records, 'newer record')} of ${stream} ${verb} in the write-ahead log only: ` +
    'the process that has the store open moves them to segments within seconds; if there is none, the next writer does'
  );
}
