/** Plots as inline SVG: lines over days, and bars made of parts. */
import { significant } from '../format.ts';
import { escape } from '../report/html.ts';

const WIDTH = 760;
const HEIGHT = 240;
const LEFT = 90;
const RIGHT = 16;
const TOP = 14;
const BOTTOM = 30;
const BAR_HEIGHT = 18;
const BAR_LABEL = 170;
const BAR_VALUE = 80;

export interface Line {
  readonly name: string;
  readonly values: readonly number[];
}

/** All lines share the days and begin at zero. Colours are those of the style's classes `part-<index>`. */
export function linePlot(title: string, days: readonly number[], lines: readonly Line[]): string {
  const last = Math.max(...days, Number.EPSILON);
  const most = Math.max(...lines.flatMap(({ values }) => values), Number.EPSILON);
  const x = (day: number): string => (LEFT + (day / last) * (WIDTH - LEFT - RIGHT)).toFixed(1);
  const y = (value: number): string => (HEIGHT - BOTTOM - (value / most) * (HEIGHT - BOTTOM - TOP)).toFixed(1);
  const axis = (value: number): string =>
    `<line class="axis" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(value)}" y2="${y(value)}"/>` +
    `<text class="label" x="${LEFT - 8}" y="${y(value)}" dy="0.35em">${significant(value)}</text>`;
  const path = ({ values }: Line, index: number): string => {
    const points = values.map((value, at) => `${at === 0 ? 'M' : 'L'}${x(days[at]!)} ${y(value)}`).join('');
    return `<path class="line part-${index}" d="${points}"/>`;
  };
  return [
    legend(lines.map(({ name }) => name)),
    `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escape(title)}">`,
    ...[0, most / 2, most].map(axis),
    ...lines.map(path),
    `<text x="${LEFT}" y="${HEIGHT - 8}">day 0</text>`,
    `<text class="label" x="${WIDTH - RIGHT}" y="${HEIGHT - 8}">day ${significant(last)}</text>`,
    '</svg>',
  ].join('\n');
}

export interface Bar {
  readonly name: string;
  readonly parts: readonly number[];
}

export function barPlot(title: string, partNames: readonly string[], bars: readonly Bar[], digits: number): string {
  const totals = bars.map(({ parts }) => parts.reduce((sum, part) => sum + part, 0));
  const scale = (WIDTH - BAR_LABEL - BAR_VALUE) / Math.max(...totals, Number.EPSILON);
  const height = bars.length * (BAR_HEIGHT + 6);
  const rows = bars.flatMap(({ name, parts }, row) => {
    const top = row * (BAR_HEIGHT + 6);
    let left = BAR_LABEL;
    const rects = parts.map((part, index) => {
      const size = `width="${(part * scale).toFixed(1)}" height="${BAR_HEIGHT}"`;
      const rect = `<rect class="part-${index}" x="${left.toFixed(1)}" y="${top}" ${size}/>`;
      left += part * scale;
      return rect;
    });
    const middle = top + BAR_HEIGHT / 2;
    const label = `<text class="label" x="${BAR_LABEL - 8}" y="${middle}" dy="0.35em">${escape(name)}</text>`;
    const value = `<text x="${(left + 6).toFixed(1)}" y="${middle}" dy="0.35em">${totals[row]!.toFixed(digits)}</text>`;
    return [label, ...rects, value];
  });
  const svg = `<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escape(title)}">`;
  return [legend(partNames), svg, ...rows, '</svg>'].join('\n');
}

function legend(names: readonly string[]): string {
  if (names.length < 2) return '';
  const entries = names.map((name, index) => `<span class="key part-${index}"></span>${escape(name)}`);
  return `<p class="note">${entries.join(' ')}</p>`;
}
