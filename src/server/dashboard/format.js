/** Numbers, sizes and times for people. */

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat('en-US', { notation: 'compact', maximumSignificantDigits: 3 });
const EXACT_BELOW = 10_000;

/** `1234567` as `1,234,567`. */
export const count = (value) => whole.format(value);

/** `1234567` as `1.23M`. */
export const compact = (value) => (value < EXACT_BELOW ? whole.format(value) : short.format(value));

/** `1234567` as `1.2 MB`. */
export function bytes(value) {
  let unit = 0;
  let scaled = value;
  while (scaled >= 1_000 && unit < UNITS.length - 1) {
    scaled /= 1_000;
    unit += 1;
  }
  return `${scaled.toFixed(unit === 0 || scaled >= 100 ? 0 : 1)} ${UNITS[unit]}`;
}

/** Milliseconds as `0.42 ms`, `12 ms`, `1.5 s`. */
export function duration(milliseconds) {
  if (milliseconds === null || milliseconds === undefined) return '–';
  if (milliseconds >= 1_000) return `${(milliseconds / 1_000).toPrecision(2)} s`;
  return `${milliseconds >= 10 ? Math.round(milliseconds) : milliseconds.toPrecision(2)} ms`;
}

/** Milliseconds as `3 d 4 h`, `12 min`. */
export function span(milliseconds) {
  const minutes = Math.floor(milliseconds / 60_000);
  if (minutes < 1) return `${Math.floor(milliseconds / 1_000)} s`;
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** Milliseconds since the epoch as `2026-01-31 12:00:00.000`, in UTC. */
export function time(milliseconds) {
  const date = new Date(milliseconds);
  if (Number.isNaN(date.getTime())) return String(milliseconds);
  return date.toISOString().replace('T', ' ').replace('Z', '');
}

export const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? '' : 's'}`;
