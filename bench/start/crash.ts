/** Runs the child until enough is acknowledged, and kills it there as a power switch would: without any warning. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { Expectation } from './expectation.ts';
import { type Latency, type Message, MessageReader, REPORT_DESCRIPTOR } from './messages.ts';

const CHILD: string = join(import.meta.dirname, 'child.js');

export interface Crash {
  /** Milliseconds from the open store to the kill. */
  readonly duration: number;
  /** As the child last reported it; `undefined` when it was killed before that. */
  readonly latency: Latency | undefined;
}

export interface CrashOptions {
  readonly dir: string;
  /** Size of the plan. */
  readonly bytes: number;
  /** Acknowledged bytes at which the child is killed. */
  readonly killAtBytes: number;
  readonly expectation: Expectation;
  readonly signal: AbortSignal;
  progress(): void;
}

/** Everything the child was told to be durable is in the expectation when this resolves. */
export function ingestAndCrash(options: CrashOptions): Promise<Crash> {
  const { dir, bytes, killAtBytes, expectation, signal } = options;
  const child = spawn(process.execPath, ['--enable-source-maps', CHILD, dir, String(bytes)], {
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
    signal,
    killSignal: 'SIGKILL',
  });
  const reports = child.stdio[REPORT_DESCRIPTOR] as Readable;
  const reader = new MessageReader();
  let started = performance.now();
  let duration: number | undefined;
  let latency: Latency | undefined;
  const take = (message: Message): void => {
    if (message.type === 'open') started = performance.now();
    else if (message.type === 'latency') latency = message.figures;
    else expectation.acknowledge(message.stream, message.first, message.next);
  };
  reports.setEncoding('utf8').on('data', (text: string) => {
    for (const message of reader.push(text)) take(message);
    options.progress();
    if (duration !== undefined || expectation.bytes < killAtBytes) return;
    duration = performance.now() - started;
    child.kill('SIGKILL');
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    // `close` comes after the last report was read: what was on its way when the child died counts.
    child.once('close', (code, killedBy) => {
      if (duration !== undefined && killedBy === 'SIGKILL') resolve({ duration, latency });
      else reject(new Error(`the ingesting process ended by itself (${killedBy ?? `exit code ${code ?? 0}`})`));
    });
  });
}
