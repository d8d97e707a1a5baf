/** Records as lines that hold the beginnings of keys and values, for people who look at a page and not at megabytes. */
import { isUtf8 } from 'node:buffer';
import type { RecordBatch } from '../record/record-batch.ts';

/** As `jsonLinesOf`, with `bytes` of each key and value, and with their lengths. */
export function previewLinesOf(batch: RecordBatch, bytes: number): string {
  let lines = '';
  for (const { offset, timestamp, key, value } of batch) {
    const [keyBytes, valueBytes] = [key?.length ?? 0, value?.length ?? 0];
    const shown = { key: contentOf(key, bytes), value: contentOf(value, bytes) };
    lines += `${JSON.stringify({ offset, timestamp, ...shown, keyBytes, valueBytes })}\n`;
  }
  return lines;
}

/** Text as text, also where the cut is in the middle of a character, and anything else in base64. */
function contentOf(content: Buffer | null, bytes: number): string | { readonly base64: string } | null {
  if (content === null) return null;
  if (!isUtf8(content)) return { base64: content.toString('base64', 0, bytes) };
  let end = Math.min(bytes, content.length);
  while (end < content.length && end > 0 && isContinuation(content[end] as number)) end -= 1;
  return content.toString('utf8', 0, end);
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}
