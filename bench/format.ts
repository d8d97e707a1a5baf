/** Figures of benchmarks as text. */
import { scaled, short, shortScaled, significant } from '../src/report/format.ts';
import type { Spread } from './statistics.ts';
import type { Subject, Unit } from './workload.ts';

const MEBIBYTE = 1_024 * 1_024;

/** `1.23M/s`, `456 MB/s`, `0.12 ms`. */
export function formatValue(value: number, unit: Unit): string {
  return formatWith(value, unit, significant, scaled);
}

/** As `formatValue`, for a mark of an axis: without zeros that say nothing. */
export function formatTick(value: number, unit: Unit): string {
  return formatWith(value, unit, short, shortScaled);
}

type Formatter = (value: number) => string;

function formatWith(value: number, unit: Unit, plain: Formatter, large: Formatter): string {
  switch (unit) {
    case 'records/s':
    case 'operations/s':
      return `${large(value)}/s`;
    case 'bytes/s':
      return `${plain(value / 1e6)} MB/s`;
    case 'bytes':
      return `${plain(value / MEBIBYTE)} MiB`;
    case 'records':
    case 'operations':
      return value.toLocaleString('en-US');
    case 'share':
      return plain(value);
    case 'seconds':
      return `${plain(value)} s`;
    case 'ms':
    case 'us':
    case 'ns':
      return `${plain(value)} ${unit}`;
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
