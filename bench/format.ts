/** Figures of benchmarks as text. */
import { scaled, significant } from '../src/report/format.ts';
import type { Spread } from './statistics.ts';
import type { Subject, Unit } from './workload.ts';

const MEBIBYTE = 1_024 * 1_024;

/** `1.23M/s`, `456 MB/s`, `0.12 ms`. */
export function formatValue(value: number, unit: Unit): string {
  switch (unit) {
    case 'records/s':
    case 'operations/s':
      return `${scaled(value)}/s`;
    case 'bytes/s':
      return `${significant(value / 1e6)} MB/s`;
    case 'bytes':
      return `${significant(value / MEBIBYTE)} MiB`;
    case 'records':
    case 'operations':
      return value.toLocaleString('en-US');
    case 'share':
      return significant(value);
    case 'seconds':
      return `${significant(value)} s`;
    case 'ms':
    case 'us':
    case 'ns':
      return `${significant(value)} ${unit}`;
  }
}

/** What a target or a check talks about: a ratio has no unit. */
export function formatSubject(value: number, subject: Subject, unit: Unit): string {
  if (subject === 'ratio') return `${value.toFixed(2)}x`;
  const text = formatValue(value, unit);
  return subject === 'difference' ? `floor ${value < 0 ? '-' : '+'} ${text.replace('-', '')}` : text;
}

/** `1.2 (1.1-1.3)`: the median, and the range of all rounds. */
export function formatSpread({ min, median, max }: Spread, format: (value: number) => string): string {
  return min === max ? format(median) : `${format(median)} (${bare(format(min))}-${bare(format(max))})`;
}

/** Without the unit, which the median has told. */
function bare(text: string): string {
  return text.replace(/\/s$|x$| .*$/, '');
}
