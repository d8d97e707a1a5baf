/** Horizontal bars, also of parts, on one scale from 0. They are HTML, so that text wraps where it is narrow. */
import { escape } from '../../src/report/html.ts';
import { legend } from '../../src/report/legend.ts';
import { linearScale } from '../../src/report/scale.ts';

export interface Bar {
  readonly label: string;
  /** In small letters behind the label. */
  readonly note?: string;
  readonly parts: readonly BarPart[];
  /** What is written behind the bar. */
  readonly text: string;
  /** The least and the most that was measured. */
  readonly range?: readonly [number, number];
  /** Values marked across the bar: what had to be reached. */
  readonly marks?: readonly number[];
}

export interface BarPart {
  readonly value: number;
  /** Class of the part: what it stands for. */
  readonly kind: string;
}

export interface BarChartOptions {
  /** What the parts stand for, by number. */
  readonly partNames?: readonly string[];
  /** Labels of the axis; without it there is none. */
  readonly axis?: (value: number) => string;
}

/** A bar so many times as long as the next would hide all others: it is cut. */
const CUT_FROM = 4;
/** What a cut bar is longer than the next one. */
const CUT_LENGTH = 1.2;
const FULL = 100;

/** What a page with bars needs. */
export const BAR_STYLE = `
:root { --floor: #9aa4af; --peer: #6e7781; --volatile: #d4a72c; }
@media (prefers-color-scheme: dark) { :root { --floor: #6e7681; --peer: #8b949e; --volatile: #bb8009; } }
.bars { margin: 0.5rem 0 1rem; font-size: 0.8125rem; display: grid; row-gap: 0.3rem; }
.bars .row { display: grid; grid-template-columns: 13rem 1fr 13rem; gap: 0.2rem 0.75rem; align-items: center; }
.bars .name { text-align: right; line-height: 1.2; }
.bars .name small { color: var(--soft); white-space: nowrap; }
.bars .value { font-variant-numeric: tabular-nums; }
.bars .track { position: relative; display: flex; height: 1rem; }
.bars .bar { display: block; height: 100%; }
.bars .bar:first-child { border-radius: 2px 0 0 2px; }
.bars .millrace { background: var(--c0); } .bars .floor { background: var(--floor); }
.bars .peer { background: var(--peer); } .bars .volatile { background: var(--volatile); }
.bars .cut { mask-image: linear-gradient(90deg, #000 80%, transparent); }
.bars .range { position: absolute; top: calc(50% - 1px); height: 2px; background: var(--ink); }
.bars .mark { position: absolute; top: -3px; bottom: -3px; border-left: 2px dotted var(--missed); }
.bars .axis .track { border-top: 1px solid var(--line); color: var(--soft); font-size: 0.75rem; }
.bars .tick { position: absolute; padding-top: 4px; transform: translateX(-50%); font-style: normal;
  white-space: nowrap; }
.bars .tick::before { content: ''; position: absolute; top: 0; left: 50%; height: 4px;
  border-left: 1px solid var(--line); }
.bars .tick:first-child { transform: none; } .bars .tick:first-child::before { left: 0; }
.bars .tick.end { transform: translateX(-100%); } .bars .tick.end::before { left: 100%; }
@media (max-width: 40rem) {
  .bars .row { grid-template-columns: 1fr auto; } .bars .track { grid-row: 2; grid-column: 1 / 3; }
  .bars .name { text-align: left; } .bars .axis { row-gap: 0; }
}
`;

/** `title` says to those who cannot see it what the chart shows. */
export function barChart(title: string, bars: readonly Bar[], { partNames = [], axis }: BarChartOptions = {}): string {
  const end = endOf(bars);
  const rows = bars.map((bar) => row(bar, end));
  return [
    legend(partNames),
    `<div class="bars" role="group" aria-label="${escape(title)}">`,
    ...rows,
    axis === undefined || end === 0 ? '' : axisRow(end, axis),
    '</div>',
  ].join('\n');
}

/** The value at the end of the scale; 0 where all are. */
function endOf(bars: readonly Bar[]): number {
  const lengths = bars.map(({ parts, range, marks = [] }) => Math.max(sum(parts), range?.[1] ?? 0, ...marks));
  const [longest = 0, next = longest] = lengths.sort((left, right) => right - left);
  return next > 0 && longest > next * CUT_FROM ? next * CUT_LENGTH : longest;
}

function row({ label, note, parts, text, range, marks = [] }: Bar, end: number): string {
  const share = (value: number): number => (end === 0 ? 0 : Math.min(FULL, (value / end) * FULL));
  const percent = (value: number): string => `${share(value).toFixed(2)}%`;
  const cut = sum(parts) > end ? ' cut' : '';
  const rects = parts.map(({ value, kind }) => `<i class="bar ${kind}${cut}" style="width:${percent(value)}"></i>`);
  const [least = 0, most = 0] = range ?? [];
  const whisker =
    least === most || most > end
      ? ''
      : `<i class="range" style="left:${percent(least)};width:${percent(most - least)}"></i>`;
  const lines = marks.map((mark) => `<i class="mark" style="left:${percent(mark)}"></i>`);
  const small = note === undefined ? '' : ` <small>${escape(note)}</small>`;
  return (
    `<div class="row"><span class="name">${escape(label)}${small}</span>` +
    `<span class="track">${rects.join('')}${whisker}${lines.join('')}</span>` +
    `<span class="value">${escape(text)}</span></div>`
  );
}

/** Those who cannot see the bars read their values: the axis says nothing more. */
function axisRow(end: number, text: (value: number) => string): string {
  const { share, ticks } = linearScale(0, end);
  const labels = ticks.map((tick) => {
    const left = share(tick) * FULL;
    // A label in the middle of the last mark would leave the page.
    const last = left > FULL * 0.95 ? ' end' : '';
    return `<i class="tick${last}" style="left:${left.toFixed(2)}%">${escape(text(tick))}</i>`;
  });
  return `<div class="row axis" aria-hidden="true"><span></span><span class="track">${labels.join('')}</span></div>`;
}

function sum(parts: readonly BarPart[]): number {
  return parts.reduce((total, { value }) => total + value, 0);
}
