/** What a command that reads segments does not see, told in a sentence. */
import { inspectLog } from './log-inspection.ts';
import { counted } from './text.ts';

/** `undefined` when every durable record of the stream is in segments. */
export async function unflushedNote(dir: string, stream: string): Promise<string | undefined> {
  const { unflushed } = await inspectLog(dir, 'unflushed');
  return noteOn(dir, stream, unflushed.get(stream) ?? 0);
}

/** `what`: the stream, or what holds `records` that are in no segment. */
export function noteOn(dir: string, what: string, records: number): string | undefined {
  if (records === 0) return undefined;
  const verb = records === 1 ? 'is' : 'are';
  return (
    `${counted(records, 'newer record')} of ${what} ${verb} in the write-ahead log only: ` +
    'the process that has the store open moves them to segments within seconds; if there is none, run: ' +
    `millrace recover ${dir}`
  );
}
