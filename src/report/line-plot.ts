/** Lines over time, or over anything else that grows, as inline SVG. Colours come from the page, light or dark. */
import { short } from './format.ts';
import { escape } from './html.ts';
import { legend } from './legend.ts';
import { linearScale, logScale, type Scale } from './scale.ts';

export interface Line {
  readonly name: string;
  /** One for each place; `undefined` where there is no value. */
  readonly values: readonly (number | undefined)[];
}

export interface LinePlot {
  readonly title: string;
  /** What is said behind the title: the unit, or how to read it. */
  readonly note?: string;
  /** Places of the values, ascending. */
  readonly x: readonly number[];
  readonly xText?: (value: number) => string;
  readonly yText?: (value: number) => string;
  readonly lines: readonly Line[];
  /** What no line should exceed. */
  readonly limit?: { readonly name: string; readonly value: number };
  /** `log` for values that span orders of magnitude. Default: linear, from zero. */
  readonly scale?: 'linear' | 'log';
  readonly xScale?: Scale;
  /** Places where something happened: upright lines, with the first letter of their names where there are few. */
  readonly marks?: readonly { readonly name: string; readonly at: number }[];
}

// As wide as a phone: text stays readable there, and two plots stand side by side on a desk.
const WIDTH = 480;
const HEIGHT = 200;
const LEFT = 62;
const RIGHT = 12;
const TOP = 8;
const BOTTOM = 22;
/** Air above the highest value. */
const HEADROOM = 1.05;
/** More points than the plot has pixels show nothing. */
const POINTS_MAX = 480;
/** More letters than this run into each other. */
const LETTERS_MAX = 40;

export function linePlot(plot: LinePlot): string {
  const { title, note, lines, limit, scale, yText = short } = plot;
  const picked = thinned(plot);
  const values = picked.lines.flatMap((line) => line.values).filter((value) => value !== undefined);
  const highest = Math.max(...values, limit?.value ?? 0);
  // Zeros alone tell no scale.
  const most = (highest > 0 ? highest : 1) * HEADROOM;
  const positive = values.filter((value) => value > 0);
  const yScale = scale === 'log' ? logScale(Math.min(...positive, most), most) : linearScale(0, most);
  const y = (value: number): string => (HEIGHT - BOTTOM - yScale.share(value) * (HEIGHT - BOTTOM - TOP)).toFixed(1);
  const grid = yScale.ticks.map(
    (tick) =>
      `<line class="axis" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(tick)}" y2="${y(tick)}"/>` +
      `<text class="label" x="${LEFT - 6}" y="${y(tick)}" dy="0.35em">${escape(yText(tick))}</text>`,
  );
  const x = placesOf(plot, picked.x);
  const paths = picked.lines.map(
    (line, index) => `<path class="line part-${index}" d="${pathOf(line, picked.x, x.at, y)}"/>`,
  );
  const bound =
    limit === undefined
      ? ''
      : `<line class="limit" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(limit.value)}" y2="${y(limit.value)}"/>` +
        `<text class="label" x="${WIDTH - RIGHT}" y="${y(limit.value)}" dy="-0.4em">${escape(limit.name)}</text>`;
  const remark = note === undefined ? '' : ` <span class="note">${escape(note)}</span>`;
  return [
    '<figure>',
    `<figcaption>${escape(title)}${remark}</figcaption>`,
    legend(lines.map(({ name }) => name)),
    `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escape(title)}">`,
    ...grid,
    ...x.labels,
    ...marksOf(plot, x.at),
    bound,
    ...paths,
    ...hits(plot, picked, x.at),
    '</svg>',
    '</figure>',
  ].join('\n');
}

interface Places {
  readonly at: (value: number) => number;
  readonly labels: readonly string[];
}

function placesOf({ xText = short, xScale }: LinePlot, places: readonly number[]): Places {
  const from = Math.min(0, places[0] ?? 0);
  const last = places.at(-1) ?? 0;
  const scale = xScale ?? linearScale(from, last > from ? last : from + 1);
  const at = (value: number): number => LEFT + scale.share(value) * (WIDTH - LEFT - RIGHT);
  const labels = scale.ticks.map((tick) => {
    const anchor = scale.share(tick) < 0.05 ? 'start' : scale.share(tick) > 0.9 ? 'end' : 'middle';
    const x = at(tick).toFixed(1);
    return `<text x="${x}" y="${HEIGHT - 6}" text-anchor="${anchor}">${escape(xText(tick))}</text>`;
  });
  return { at, labels };
}

/** Gaps in the values are gaps in the line. */
function pathOf(
  { values }: Line,
  places: readonly number[],
  x: (value: number) => number,
  y: (value: number) => string,
): string {
  let path = '';
  let pen = 'M';
  for (const [index, value] of values.entries()) {
    if (value === undefined) pen = 'M';
    else {
      path += `${pen}${x(places[index] as number).toFixed(1)} ${y(value)}`;
      pen = 'L';
    }
  }
  return path;
}

function marksOf({ marks = [] }: LinePlot, x: Places['at']): string[] {
  return marks.map(({ name, at }) => {
    const place = x(at).toFixed(1);
    const letter = marks.length > LETTERS_MAX ? '' : name.slice(0, 1);
    return (
      `<line class="mark" x1="${place}" x2="${place}" y1="${TOP}" y2="${HEIGHT - BOTTOM}"/>` +
      `<text x="${place}" y="${TOP}" text-anchor="middle">${escape(letter)}</text>`
    );
  });
}

/** Over each place a strip that shows its figures to who points at it. */
function hits(plot: LinePlot, { x: places, lines }: Pick<LinePlot, 'x' | 'lines'>, x: Places['at']): string[] {
  const { xText = short, yText = short } = plot;
  return places.map((place, index) => {
    const left = index === 0 ? x(place) : (x(places[index - 1] as number) + x(place)) / 2;
    const right = index === places.length - 1 ? x(place) : (x(place) + x(places[index + 1] as number)) / 2;
    const figures = lines.flatMap(({ name, values }) => {
      const value = values[index];
      return value === undefined ? [] : [`${name}: ${yText(value)}`];
    });
    const width = Math.max(right - left, 1).toFixed(1);
    const size = `x="${left.toFixed(1)}" width="${width}" y="0" height="${HEIGHT - BOTTOM}"`;
    return `<rect class="hit" ${size}><title>${escape([xText(place), ...figures].join('\n'))}</title></rect>`;
  });
}

/** Of more places than can be told apart, the one with the largest value of each group. */
function thinned({ x, lines }: LinePlot): Pick<LinePlot, 'x' | 'lines'> {
  const group = Math.ceil(x.length / POINTS_MAX);
  if (group <= 1) return { x, lines };
  const starts = Array.from({ length: Math.ceil(x.length / group) }, (_, index) => index * group);
  const highest = (values: Line['values'], start: number): number | undefined => {
    const present = values.slice(start, start + group).filter((value) => value !== undefined);
    return present.length === 0 ? undefined : Math.max(...present);
  };
  return {
    x: starts.map((start) => x[start] as number),
    lines: lines.map(({ name, values }) => ({ name, values: starts.map((start) => highest(values, start)) })),
  };
}
