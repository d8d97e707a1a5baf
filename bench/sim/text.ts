/** The figures as text for a terminal. */
import type { SimResult, VariantResult } from './result.ts';
import { FIGURE_ROWS, JOB_HEADING, jobRows, scalingText } from './table.ts';

/** Variants side by side; more go below. */
const COLUMNS = 5;
const GAP = '  ';

export function simulationText(result: SimResult): string {
  const parts = [scalingText(result), ''];
  const [defaults, ...others] = result.variants;
  if (defaults === undefined) return '';
  parts.push(aligned([JOB_HEADING, ...jobRows(defaults)]), '');
  for (let index = 0; index === 0 || index < others.length; index += COLUMNS) {
    parts.push(aligned(columns([defaults, ...others.slice(index, index + COLUMNS)])), '');
  }
  return parts.join('\n');
}

function columns(variants: readonly VariantResult[]): string[][] {
  const heading = ['', ...variants.map(({ name }) => name)];
  return [heading, ...FIGURE_ROWS.map(({ title, of }) => [title, ...variants.map(({ figures }) => of(figures))])];
}

function aligned(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const cell = (text: string, column: number): string =>
    column === 0 ? text.padEnd(widths[column]!) : text.padStart(widths[column]!);
  return rows.map((row) => row.map(cell).join(GAP).trimEnd()).join('\n');
}
