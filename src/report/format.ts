/** Figures as text: three significant digits, since no run repeats the fourth. */

const STEP = 1_000;
const SUFFIXES = ['', 'k', 'M', 'G'] as const;
const DIGITS = 3;

/** `0.123`, `12.3`, `1,235`. */
export function significant(value: number): string {
  const magnitude = Math.abs(value);
  if (magnitude >= 100) return Math.round(value).toLocaleString('en-US');
  return value === 0 ? '0' : value.toPrecision(DIGITS);
}

/** As `significant`, without zeros that say nothing: `2`, not `2.00`. */
export function short(value: number): string {
  return withoutZeros(significant(value));
}

/** As `scaled`, without zeros that say nothing: `2k`, not `2.00k`. */
export function shortScaled(value: number): string {
  return withoutZeros(scaled(value));
}

/** `1234567` as `1.23M`. */
export function scaled(value: number): string {
  let step = 0;
  let rest = value;
  while (Math.abs(rest) >= STEP && step < SUFFIXES.length - 1) {
    rest /= STEP;
    step += 1;
  }
  return `${significant(rest)}${SUFFIXES[step] ?? ''}`;
}

/** Before a suffix, if there is one. */
function withoutZeros(text: string): string {
  return text.replace(/(\.\d*?)0+(\D?)$/, '$1$2').replace(/\.(\D?)$/, '$1');
}
