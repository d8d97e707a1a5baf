/**
 * What the child tells its parent, a line of text each: a line that the kill cut in two has no newline and counts for
 * nothing.
 */

export type Message =
  | { readonly type: 'open' }
  | { readonly type: 'acknowledged'; readonly stream: number; readonly first: number; readonly next: number }
  | { readonly type: 'latency'; readonly figures: Latency };

/** Microseconds. */
export interface Latency {
  readonly append: Percentiles;
  readonly appendMany: Percentiles;
}

export interface Percentiles {
  readonly p50: number;
  readonly p99: number;
}

/** The descriptor of the pipe in the child. */
export const REPORT_DESCRIPTOR = 3;

export function encodeMessage(message: Message): string {
  return `${JSON.stringify(message)}\n`;
}

/** Cuts a byte stream into messages. */
export class MessageReader {
  #rest = '';

  push(text: string): Message[] {
    const lines = `${this.#rest}${text}`.split('\n');
    this.#rest = lines.pop() ?? '';
    return lines.map((line) => JSON.parse(line) as Message);
  }
}
