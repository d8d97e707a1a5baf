/** Horizontal bars, also of parts, on one scale from 0. They are HTML, so that text wraps where it is narrow. */
import { escape } from '../../src/report/html.ts';
import { legend } from '../../src/report/legend.ts';

export interface Bar {
  readonly label: string;
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

/** What a page with bars needs. */
export const BAR_STYLE = `
:root { --floor: #9aa4af; --peer: #6e7781; --volatile: #d4a72c; }
@media (prefers-color-scheme: dark) { :root { --floor: #6e7681; --peer: #8b949e; --volatile: #bb8009; } }
.bars { margin: 0.5rem 0 1rem; font-size: 0.8125rem; display: grid; row-gap: 0.3rem; }
.bars .row { display: grid; grid-template-columns: 11rem 1fr 13rem; gap: 0.2rem 0.75rem; align-items: center; }
.bars .name { color: var(--soft); text-align: right; }
.bars .value { font-variant-numeric: tabular-nums; }
.bars .track { position: relative; display: flex; height: 1rem; }
.bars .bar { display: block; height: 100%; }
.bars .bar:first-child { border-radius: 2px 0 0 2px; }
.bars .millrace { background: var(--c0); } .bars .floor { background: var(--floor); }
.bars .peer { background: var(--peer); } .bars .volatile { background: var(--volatile); }
.bars .range { position: absolute; top: calc(50% - 1px); height: 2px; background: var(--ink); }
.bars .mark { position: absolute; top: -3px; bottom: -3px; border-left: 2px dotted var(--missed); }
@media (max-width: 40rem) {
  .bars .row { grid-template-columns: 1fr auto; } .bars .track { grid-row: 2; grid-column: 1 / 3; }
  .bars .name { text-align: left; }
}
`;

/** `title` says to those who cannot see it what the chart shows; `partNames` what the parts stand for, by number. */
export function barChart(title: string, bars: readonly Bar[], partNames: readonly string[] = []): string {
  const largest = Math.max(...bars.flatMap(({ parts, range, marks = [] }) => [sum(parts), range?.[1] ?? 0, ...marks]));
  const rows = bars.map((bar) => row(bar, largest > 0 ? 100 / largest : 0));
  return [legend(partNames), `<div class="bars" role="group" aria-label="${escape(title)}">`, ...rows, '</div>'].join(
    '\n',
  );
}

function row({ label, parts, text, range, marks = [] }: Bar, scale: number): string {
  const percent = (value: number): string => `${(value * scale).toFixed(2)}%`;
  const rects = parts.map(({ value, kind }) => `<i class="bar ${kind}" style="width:${percent(value)}"></i>`);
  const [least = 0, most = 0] = range ?? [];
  const whisker =
    least === most ? '' : `<i class="range" style="left:${percent(least)};width:${percent(most - least)}"></i>`;
  const lines = marks.map((mark) => `<i class="mark" style="left:${percent(mark)}"></i>`);
  return (
    `<div class="row"><span class="name">${escape(label)}</span>` +
    `<span class="track">${rects.join('')}${whisker}${lines.join('')}</span>` +
    `<span class="value">${escape(text)}</span></div>`
  );
}

function sum(parts: readonly BarPart[]): number {
  return parts.reduce((total, { value }) => total + value, 0);
}
