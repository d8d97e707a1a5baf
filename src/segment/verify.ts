/**
 * Reads a whole segment and holds every byte against what it must be. Goes on behind damage, so that one report names
 * all of it; memory stays bounded.
 */
import { viewOf } from '../base/bytes.ts';
import { isMillraceError, type MillraceError } from '../errors/millrace-error.ts';
import { CHUNK_RAW_BYTES_TARGET } from '../limits/limits.ts';
import { FRAME_KIND } from '../record/frame-format.ts';
import { walkFrames } from '../record/frame-reader.ts';
import { CHUNK_TYPE } from './chunk-format.ts';
import { chunkBody, type StoredChunk } from './chunk-reader.ts';
import { segmentCorrupt } from './errors.ts';
import { type ExpectedSegment, type FooterRun, SEGMENT_HEADER_BYTES } from './format.ts';
import { parseSegmentHeader } from './header.ts';
import { SegmentReader } from './reader.ts';
import { RunTotals } from './run-totals.ts';
import { readRange, type SegmentSource } from './source.ts';

export interface SegmentReport {
  readonly objectKey: string;
  /** Runs, chunks and records that are whole. */
  readonly runs: number;
  readonly chunks: number;
  readonly records: number;
  /** Empty when the segment is what was written. At most `PROBLEMS_MAX`. */
  readonly problems: readonly MillraceError[];
}

/** A report stops at this many problems. */
const PROBLEMS_MAX = 1000;

/** Checks a segment. Rejects only when it cannot be read at all; damage is in the report. */
export async function verifySegment(source: SegmentSource, expected: ExpectedSegment): Promise<SegmentReport> {
  const verification = new Verification(source, expected);
  await verification.attempt(() => verification.run());
  return verification.report();
}

class Verification {
  readonly #source: SegmentSource;
  readonly #expected: ExpectedSegment;
  readonly #problems: MillraceError[] = [];
  /** Reused for every body. */
  readonly #body: Uint8Array = new Uint8Array(CHUNK_RAW_BYTES_TARGET);
  #runs = 0;
  #chunks = 0;
  #records = 0;

  constructor(source: SegmentSource, expected: ExpectedSegment) {
    this.#source = source;
    this.#expected = expected;
  }

  report(): SegmentReport {
    const { objectKey } = this.#expected;
    return { objectKey, runs: this.#runs, chunks: this.#chunks, records: this.#records, problems: this.#problems };
  }

  async run(): Promise<void> {
    const { objectKey } = this.#expected;
    const header = await readRange(this.#source, objectKey, 0, Math.min(SEGMENT_HEADER_BYTES, this.#source.size));
    await this.attempt(async () => parseSegmentHeader(header, this.#expected));
    const reader = await SegmentReader.open(this.#source, this.#expected);
    await this.attempt(() => this.#checkPadding(reader));
    for (const run of reader.footer.listRuns()) {
      if (this.#problems.length >= PROBLEMS_MAX) return;
      await this.#checkRun(reader, run);
    }
  }

  /** Runs `check` and keeps the damage it finds. Returns whether it found none. */
  async attempt(check: () => Promise<unknown>): Promise<boolean> {
    try {
      await check();
      return true;
    } catch (error) {
      if (!isMillraceError(error) || error.kind !== 'corrupt') throw error;
      this.#problems.push(error);
      return false;
    }
  }

  async #checkPadding(reader: SegmentReader): Promise<void> {
    const { runsEnd, position } = reader.footer;
    const padding = await readRange(this.#source, reader.objectKey, runsEnd, position - runsEnd);
    const damaged = padding.findIndex((byte) => byte !== 0);
    if (damaged < 0) return;
    throw segmentCorrupt(reader.objectKey, runsEnd + damaged, `expected zeros up to the footer at ${position}`);
  }

  async #checkRun(reader: SegmentReader, run: FooterRun): Promise<void> {
    const totals = new RunTotals(run.streamId, run.firstOffset, run.relative);
    const end = run.firstChunk + run.chunks;
    let index = run.firstChunk;
    let whole = true;
    while (index < end && this.#problems.length < PROBLEMS_MAX) {
      const passed = await this.attempt(async () => {
        for await (const chunk of reader.chunks(run, { fromChunk: index })) {
          checkFrames(chunk, chunkBody(chunk, this.#body));
          if (whole) checkTotals(chunk, totals);
          this.#chunks += 1;
          this.#records += chunk.header.recordCount;
          index += 1;
        }
      });
      whole &&= passed;
      // The index knows where the chunk behind a damaged one begins.
      if (!passed) index += 1;
    }
    if (!whole) return;
    const counted = totals.footerRun(run.byteOffset, run.byteLength, run.firstChunk, run.dead);
    if (await this.attempt(async () => checkSummary(reader.objectKey, run, counted))) this.#runs += 1;
  }
}

function checkTotals(chunk: StoredChunk, totals: RunTotals): void {
  const problem = totals.problem(chunk.header);
  if (problem !== undefined) throw segmentCorrupt(chunk.objectKey, chunk.position, problem);
  totals.add(chunk.header);
}

function checkSummary(objectKey: string, claimed: FooterRun, counted: FooterRun): void {
  for (const field of Object.keys(counted) as (keyof FooterRun)[]) {
    if (claimed[field] === counted[field]) continue;
    const sums = `${field} is ${String(claimed[field])} in the footer and ${String(counted[field])} in the chunks`;
    throw segmentCorrupt(objectKey, claimed.byteOffset, `run of stream ${claimed.streamId}: ${sums}`);
  }
}

/** The frames of a records chunk must add up to what its header says. */
function checkFrames(chunk: StoredChunk, body: Uint8Array): void {
  const { header, objectKey, position } = chunk;
  if (header.type !== CHUNK_TYPE.records) return;
  const corrupt = (problem: string, at: number): MillraceError =>
    segmentCorrupt(objectKey, position, `${problem} at byte ${at} of the chunk's body`);
  const end = header.firstOffset + header.offsetSpan;
  let next = header.firstOffset;
  let records = 0;
  let userBytes = 0;
  walkFrames(viewOf(body), 0, body.length, corrupt, (frame, at) => {
    if (frame.streamId !== header.streamId) throw corrupt(`a frame of stream ${frame.streamId}`, at);
    if (frame.kind !== FRAME_KIND.records && frame.kind !== FRAME_KIND.lost) return;
    const first = frame.firstOffset + header.frameBase;
    if (first < next || first + frame.offsetSpan > end) {
      throw corrupt(`a frame of offsets ${first} to ${first + frame.offsetSpan}, not in ${next} to ${end},`, at);
    }
    next = first + frame.offsetSpan;
    records += frame.recordCount;
    userBytes += frame.userBytes;
  });
  if (records === header.recordCount && userBytes === header.userBytes) return;
  const claimed = `${header.recordCount} records with ${header.userBytes} user bytes`;
  throw segmentCorrupt(objectKey, position, `expected frames of ${claimed}, found ${records} with ${userBytes}`);
}
