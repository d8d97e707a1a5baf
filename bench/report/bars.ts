/** Horizontal bars as inline SVG: colours come from the page, so that they follow its light or dark scheme. */
import type { Spread } from '../statistics.ts';
import { escape } from './html.ts';

export interface Bar {
  readonly label: string;
  readonly spread: Spread;
  /** What is written behind the bar. */
  readonly text: string;
  /** Class of the bar: what it stands for. */
  readonly kind: 'millrace' | 'floor' | 'peer' | 'volatile';
  /** Values marked across the bar: what had to be reached. */
  readonly marks?: readonly number[];
}

const WIDTH = 760;
const LABEL_WIDTH = 190;
const TEXT_WIDTH = 210;
const ROW_HEIGHT = 28;
const BAR_HEIGHT = 16;
const BAR_WIDTH_MAX = WIDTH - LABEL_WIDTH - TEXT_WIDTH;
const TEXT_GAP = 8;

/** Bars on one scale that begins at 0. `title` says to those who cannot see it what the chart shows. */
export function barChart(title: string, bars: readonly Bar[]): string {
  const largest = Math.max(...bars.flatMap(({ spread, marks = [] }) => [spread.max, ...marks]));
  const scale = largest > 0 ? BAR_WIDTH_MAX / largest : 0;
  const rows = bars.map((bar, index) => row(bar, index * ROW_HEIGHT, scale));
  const height = bars.length * ROW_HEIGHT;
  return `<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escape(title)}">\n${rows.join('\n')}\n</svg>`;
}

function row({ label, spread, text, kind, marks = [] }: Bar, top: number, scale: number): string {
  const middle = top + ROW_HEIGHT / 2;
  const barTop = middle - BAR_HEIGHT / 2;
  const x = (value: number): string => (LABEL_WIDTH + value * scale).toFixed(1);
  const range =
    spread.min === spread.max
      ? ''
      : `<line class="range" x1="${x(spread.min)}" x2="${x(spread.max)}" y1="${middle}" y2="${middle}"/>`;
  const lines = marks.map(
    (mark) => `<line class="mark" x1="${x(mark)}" x2="${x(mark)}" y1="${barTop - 3}" y2="${barTop + BAR_HEIGHT + 3}"/>`,
  );
  const end = LABEL_WIDTH + Math.max(spread.max, ...marks) * scale + TEXT_GAP;
  return [
    `<text class="label" x="${LABEL_WIDTH - TEXT_GAP}" y="${middle}" dy="0.35em">${escape(label)}</text>`,
    `<rect class="${kind}" x="${LABEL_WIDTH}" y="${barTop}" width="${(spread.median * scale).toFixed(1)}" ` +
      `height="${BAR_HEIGHT}" rx="2"/>`,
    range,
    ...lines,
    `<text class="value" x="${end.toFixed(1)}" y="${middle}" dy="0.35em">${escape(text)}</text>`,
  ].join('');
}
