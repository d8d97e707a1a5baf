/** Numbers, times and tables for people. */

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const;
const UNIT_STEP = 1_000;
/** Where one decimal more would be noise. */
const DECIMALS_BELOW = 100;
const GAP = '  ';

/** `1234567` as `1,234,567`. */
export function count(value: number): string {
  return value.toLocaleString('en-US');
}

/** `1` as `1 record`, `1234` as `1,234 records`. */
export function counted(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`;
}

/** `1234567` as `1.2 MB`. */
export function bytes(value: number): string {
  let unit = 0;
  let scaled = value;
  while (scaled >= UNIT_STEP && unit < UNITS.length - 1) {
    scaled /= UNIT_STEP;
    unit += 1;
  }
  const decimals = unit === 0 || scaled >= DECIMALS_BELOW ? 0 : 1;
  return `${scaled.toFixed(decimals)} ${UNITS[unit] ?? ''}`;
}

/** Milliseconds since the epoch as ISO 8601; out of a calendar's range, as they are. */
export function time(milliseconds: number): string {
  const date = new Date(milliseconds);
  return Number.isNaN(date.getTime()) ? String(milliseconds) : date.toISOString();
}

/** How many times smaller the stored bytes are. */
export function ratio(userBytes: number, storedBytes: number): string {
  return storedBytes === 0 ? '-' : `${(userBytes / storedBytes).toFixed(2)}x`;
}

/** What a table's cell may be: numbers are set flush right. */
export type Cell = string | number;

/** Rows under a heading, in columns as wide as they need to be. */
export function table(heading: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const texts = rows.map((row) => row.map((cell) => (typeof cell === 'number' ? count(cell) : cell)));
  const widths = heading.map((title, column) =>
    texts.reduce((widest, row) => Math.max(widest, row[column]?.length ?? 0), title.length),
  );
  const flushRight = heading.map((_title, column) => rows.length > 0 && rows.every((row) => isNumeric(row[column])));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return flushRight[column] === true ? cell.padStart(width) : cell.padEnd(width);
      })
      .join(GAP)
      .trimEnd();
  return [heading, ...texts].map((cells) => `${line(cells)}\n`).join('');
}

/** Names and values, one pair a line. */
export function pairs(entries: readonly (readonly [string, Cell])[]): string {
  const width = entries.reduce((widest, [name]) => Math.max(widest, name.length), 0);
  return entries
    .map(([name, value]) => `${name.padEnd(width)}${GAP}${typeof value === 'number' ? count(value) : value}\n`)
    .join('');
}

/** Also texts that begin with a number, such as sizes. */
function isNumeric(cell: Cell | undefined): boolean {
  return typeof cell === 'number' || (cell !== undefined && (cell === '-' || /^\d[\d.,]*( ?[kMGTP]?B|x)?$/.test(cell)));
}
