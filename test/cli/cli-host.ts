/**
 * A process that runs commands one after another, each as `src/cli/main.ts` would: for tests of what many commands say,
 * which would spend most of their time on starting processes. Asked and answered by messages.
 */
import { reportFailure } from '../../src/cli/failure.ts';
import { commandOf, run } from '../../src/cli/program.ts';
import type { CliResult } from './cli-process.ts';

async function runCaptured(args: readonly string[]): Promise<CliResult> {
  const [stdout, stderr] = [capture(process.stdout), capture(process.stderr)];
  process.exitCode = 0;
  try {
    await run(args);
  } catch (error) {
    process.exitCode = reportFailure(error, args.includes('--json'), commandOf(args));
  }
  return { code: process.exitCode, stdout: stdout.text(), stderr: stderr.text() };
}

/** Keeps what is written from now on, until it is asked for. */
function capture(stream: NodeJS.WriteStream): { text(): string } {
  const write = stream.write.bind(stream);
  const pieces: Buffer[] = [];
  stream.write = (piece: string | Uint8Array, ...rest: unknown[]): boolean => {
    pieces.push(Buffer.from(piece as string));
    const done = rest.at(-1);
    if (typeof done === 'function') queueMicrotask(() => (done as () => void)());
    return true;
  };
  return {
    text: () => {
      stream.write = write;
      return Buffer.concat(pieces).toString();
    },
  };
}

let last = Promise.resolve();
process.on('message', (args: readonly string[]) => {
  last = last.then(async () => {
    process.send?.(await runCaptured(args));
  });
});
