/** What the process that will be killed tells its parent, a line each: everything in it is durable. */
import { writeSync } from 'node:fs';
import type { Step } from './owned-stream.ts';
import type { Sample } from './sampler.ts';
import type { Survival } from './survivor.ts';

/** The descriptor that reports go to. */
export const REPORT_DESCRIPTOR = 3;

interface StoredOffset {
  readonly stream: string;
  readonly reference: string;
  readonly offset: number;
}

interface Trim {
  readonly stream: string;
  readonly before: number;
}

export type Report =
  | { readonly type: 'open' }
  /** The records of an append lie from `offset` on. */
  | {
      readonly type: 'appended';
      readonly stream: string;
      readonly append: string;
      readonly count: number;
      readonly offset: number;
    }
  /** `offset` is absent for a duplicate that is not the latest. */
  | { readonly type: 'published'; readonly stream: string; readonly publishingId: number; readonly offset?: number }
  /** Asked for, and durable or not from now on. */
  | ({ readonly type: 'storing' } & StoredOffset)
  | ({ readonly type: 'stored' } & StoredOffset)
  /** The stream may start there from now on. */
  | ({ readonly type: 'trimming' } & Trim)
  | ({ readonly type: 'trimmed' } & Trim)
  /** Of a stream that one actor has to itself: `step` may be done from now on, and is done. */
  | { readonly type: 'step'; readonly stream: string; readonly step: Step }
  | { readonly type: 'done'; readonly stream: string }
  /** Once a second, from processes that are asked for it. */
  | Sample
  /** The last one, of a process that was to survive. */
  | Survival;

/** Reports of what is only asked for: it may have happened, whenever the report was made. */
export function isIntention({ type }: Report): boolean {
  return type === 'open' || type === 'storing' || type === 'trimming' || type === 'step';
}

/** A report, and when it was made: see `monotonicNow`. */
export type TimedReport = Report & { readonly at: number };

/** Milliseconds on a clock that all processes of the machine share. */
export function monotonicNow(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Blocking, so that nothing is done on the strength of an answer that the parent was not told of. */
export function report(message: Report): void {
  const line = Buffer.from(`${JSON.stringify({ ...message, at: monotonicNow() })}\n`);
  for (let done = 0; done < line.length;) {
    try {
      done += writeSync(REPORT_DESCRIPTOR, line, done);
    } catch (error) {
      if ((error as { code?: string }).code !== 'EAGAIN') throw error;
    }
  }
}

/** Cuts what arrives into reports; a last line that was cut off by the kill is none. */
export class ReportReader {
  #rest = '';

  push(text: string): TimedReport[] {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    return lines.map((line) => JSON.parse(line) as TimedReport);
  }
}
