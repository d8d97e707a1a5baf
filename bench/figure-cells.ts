/** A figure as the row of a table: for the terminal and for the report. */
import { formatSpread, formatSubject, formatValue } from './format.ts';
import { type FigureResult, ratioOf, targetText, verdictOf } from './results.ts';
import { spreadOf } from './statistics.ts';

export const FIGURE_HEADING: readonly string[] = ['figure', 'floor', 'millrace', 'ratio', 'target (goal)', 'verdict'];

/** One cell for each part of `FIGURE_HEADING`; the verdict is the last. */
export function figureCells(figure: FigureResult): string[] {
  const { name, unit, floor, millrace, target } = figure;
  const format = (value: number): string => formatValue(value, unit);
  const ratio = ratioOf(figure);
  const verdict = verdictOf(figure);
  return [
    name,
    floor.length === 0 ? '-' : formatSpread(spreadOf(floor), format),
    formatSpread(spreadOf(millrace), format),
    ratio === undefined ? '-' : formatSpread(ratio, (value) => `${value.toFixed(2)}x`),
    target === undefined ? '-' : targetText(target, (value, subject) => formatSubject(value, subject, unit)),
    verdict === 'no target' ? '-' : verdict,
  ];
}
