/** The result of a load test for a terminal. */
import { scaled, significant } from '../../report/format.ts';
import { bytes, count, counted, pairs, table } from '../text.ts';
import type { Percentiles } from './histogram.ts';
import { keptUp, type LoadResult, type LoadSample } from './result.ts';

const HEADING = ['milliseconds', 'p50', 'p90', 'p99', 'p99.9', 'p99.99', 'max'];

export function loadText(result: LoadResult): string {
  const { latency, endToEnd, lateness, settings, acknowledged, seconds, processorSeconds, compaction } = result;
  const megabytes = (acknowledged * settings.recordBytes) / seconds / 1e6;
  return [
    table(HEADING, [
      row('due to acknowledged', latency),
      ...(endToEnd.count === 0 ? [] : [row('due to read', endToEnd)]),
      row('due to sent', lateness),
    ]),
    pairs([
      [
        'acknowledged',
        `${counted(acknowledged, 'record')}, ${scaled(acknowledged / seconds)}/s, ${megabytes.toFixed(1)} MB/s`,
      ],
      ['asked', scheduleText(result)],
      [
        'memory',
        `${bytes(result.peakResidentBytes)} at most, ${bytes(result.slots * result.slotBytes)} of it the ring`,
      ],
      ['processor', `${(processorSeconds / seconds).toFixed(2)} of ${result.machine.cores} cores`],
      ['stored', bytes(result.storedBytes)],
      ['compaction', `${counted(compaction.jobs, 'job')}, ${bytes(compaction.readBytes)} read`],
      ['verdict', verdictText(result)],
    ]),
  ].join('');
}

/** What was asked for, in a few words. */
export function scheduleText({ settings }: Pick<LoadResult, 'settings'>): string {
  const { profile, rate, lowRate, seconds, period, recordBytes, batch } = settings;
  const rates = {
    steady: `${count(rate)} records/s`,
    ramp: `${count(lowRate)} to ${count(rate)} records/s`,
    burst: `${count(lowRate)} records/s, bursts of ${count(rate)} every ${period} s`,
  }[profile];
  const together = batch === 1 ? '' : `, up to ${batch} a call`;
  return `${rates} of ${count(recordBytes)} B for ${seconds} s${together}`;
}

/** Who took part, in a few words. */
export function castText({ streams, producers, publishers, threads, followers, keys }: LoadResult['settings']): string {
  return [
    counted(streams, 'stream'),
    counted(producers, publishers ? 'publisher' : 'producer'),
    ...(threads === 0 ? [] : [`${counted(threads, 'thread')} of their own`]),
    counted(followers, 'follower'),
    ...(keys === 0 ? [] : [`${counted(keys, 'key')} compacted`]),
  ].join(', ');
}

export function verdictText(result: LoadResult): string {
  if (keptUp(result)) return 'kept up: every record was sent and acknowledged';
  const { unsent, unanswered, failed, interrupted, seconds, settings } = result;
  if (interrupted !== undefined)
    return `none: ${interrupted} ended it after ${seconds.toFixed(1)} of ${settings.seconds} s`;
  const parts = Object.entries(failed).map(([code, records]) => `${count(records)} refused with ${code}`);
  if (unsent > 0) parts.push(`${count(unsent)} never sent`);
  if (unanswered > 0) parts.push(`${count(unanswered)} never answered`);
  return `did not keep up: ${parts.join(', ')}`;
}

/** The line that stands in the terminal while the test runs. */
export function sampleText({ acknowledgedRate, latency, endToEnd, slotsInUse, residentBytes }: LoadSample): string {
  const read = endToEnd === undefined ? '' : `, read ${significant(endToEnd.p99)}`;
  const times = latency === undefined ? '' : `  p99 ${significant(latency.p99)}${read} ms`;
  return `${scaled(acknowledgedRate)} records/s${times}  ${counted(slotsInUse, 'slot')}  ${bytes(residentBytes)}`;
}

function row(name: string, { p50, p90, p99, p999, p9999, max }: Percentiles): string[] {
  return [name, ...[p50, p90, p99, p999, p9999, max].map(significant)];
}
