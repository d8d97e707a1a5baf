/** Standard output: every write waits for the reader, and a reader that has gone ends the command quietly. */
import { isSystemError } from '../base/node-file-system.ts';

/** Whoever read the output has seen enough (`| head`): nothing is left to do, and nothing went wrong. */
export class BrokenPipe extends Error {
  override readonly name = 'BrokenPipe';
}

/** Without a listener the first failed write would end the process with a stack trace. Call once, before any output. */
export function watchOutput(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
}

/** Resolves when the text was handed to the reader; rejects with `BrokenPipe` when there is none any more. */
export function print(text: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => {
      if (error === null || error === undefined) resolve();
      else reject(isGone(error) ? new BrokenPipe() : error);
    });
  });
}

/** One JSON object on a line of its own. */
export function printJson(value: object): Promise<void> {
  return print(`${JSON.stringify(value)}\n`);
}

/** A remark beside the output, which stays what it would be without it. */
export function note(text: string, json: boolean): void {
  process.stderr.write(json ? `${JSON.stringify({ note: text })}\n` : `millrace: note: ${text}\n`);
}

function isGone(error: Error): boolean {
  return isSystemError(error, 'EPIPE', 'ECONNRESET', 'EOF', 'ERR_STREAM_DESTROYED');
}
