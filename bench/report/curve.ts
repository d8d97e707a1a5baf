/** A value over time as inline SVG, with the line that it must stay below. */
import { formatValue } from '../format.ts';
import type { Unit } from '../workload.ts';
import { escape } from './html.ts';

export interface Curve {
  readonly title: string;
  readonly unit: Unit;
  /** Seconds and value, in the order of time. */
  readonly points: readonly (readonly [number, number])[];
  readonly limit: number | undefined;
}

const WIDTH = 760;
const HEIGHT = 220;
const LEFT = 80;
const BOTTOM = 30;
const TOP = 14;
const RIGHT = 16;
/** Air above the highest value. */
const HEADROOM = 1.1;

export function curveChart({ title, unit, points, limit }: Curve): string {
  const last = Math.max(points.at(-1)?.[0] ?? 0, Number.EPSILON);
  const highest = Math.max(...points.map(([, value]) => value), limit ?? 0) * HEADROOM;
  const x = (seconds: number): string => (LEFT + (seconds / last) * (WIDTH - LEFT - RIGHT)).toFixed(1);
  const y = (value: number): string => (HEIGHT - BOTTOM - (value / highest) * (HEIGHT - BOTTOM - TOP)).toFixed(1);
  const path = points.map(([seconds, value], index) => `${index === 0 ? 'M' : 'L'}${x(seconds)} ${y(value)}`).join('');
  const line = (value: number, style: string, note: string): string =>
    `<line class="${style}" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(value)}" y2="${y(value)}"/>` +
    `<text class="label" x="${LEFT - 8}" y="${y(value)}" dy="0.35em">${escape(note)}</text>`;
  return [
    `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escape(title)}">`,
    line(0, 'axis', '0'),
    limit === undefined ? '' : line(limit, 'mark', formatValue(limit, unit)),
    `<path class="curve" d="${path}"/>`,
    `<text class="value" x="${LEFT}" y="${HEIGHT - 10}">0 s</text>`,
    `<text class="label" x="${WIDTH - RIGHT}" y="${HEIGHT - 10}">${last.toFixed(1)} s</text>`,
    '</svg>',
  ].join('\n');
}
