/** Records that look like an application's: JSON objects of an exact size, many enough that no cache of a codec holds them. */

/** Of every pool, a power of two, so that picking the next one is cheap. */
const POOL_BYTES = 4 * 1024 * 1024;
const POOL_RECORDS_MAX = 4_096;
const SERVICES = ['checkout', 'search', 'mail', 'ledger', 'images', 'login'];
const LEVELS = ['info', 'info', 'info', 'notice', 'warning', 'error'];
const WORDS = (
  'order paid shipped returned customer address payment card refused retry queue worker mill grain flour wheel water ' +
  'race stone sack market price stock item basket coupon email sent opened session expired token refresh cache miss hit ' +
  'latency timeout upstream request response header body parse render template image resize upload download storage'
).split(' ');

/** A sequence that is the same in every run: both sides, and every peer, get the same bytes. */
class Sequence {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  below(limit: number): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * limit);
  }

  of(choices: readonly string[]): string {
    return choices[this.below(choices.length)]!;
  }
}

/** Records of exactly `bytes` bytes. Their number is a power of two. */
export function recordPool(bytes: number): Buffer[] {
  const sequence = new Sequence(bytes);
  const count = Math.min(POOL_RECORDS_MAX, 2 ** Math.floor(Math.log2(POOL_BYTES / bytes)));
  return Array.from({ length: count }, (_, index) => record(sequence, index, bytes));
}

function record(sequence: Sequence, index: number, bytes: number): Buffer {
  const head =
    `{"id":${index},"at":${1_767_225_600_000 + sequence.below(86_400_000)},"service":"${sequence.of(SERVICES)}",` +
    `"level":"${sequence.of(LEVELS)}","user":${sequence.below(1_000_000)},"text":"`;
  const tail = '"}';
  let text = '';
  while (head.length + text.length + tail.length < bytes) {
    // One token in four is a number, as identifiers and amounts are: words alone would compress too well.
    text += sequence.below(4) === 0 ? `${sequence.below(100_000_000)} ` : `${sequence.of(WORDS)} `;
  }
  const room = bytes - head.length - tail.length;
  if (room < 0) throw new RangeError(`no record is as short as ${bytes} bytes`);
  return Buffer.from(head + text.slice(0, room) + tail);
}

/** Groups of `count` records, one after the other through the pool: what `appendMany` is called with. */
export function recordGroups(pool: readonly Buffer[], count: number): Buffer[][] {
  const groups = Math.max(1, Math.floor(pool.length / count));
  return Array.from({ length: groups }, (_, group) =>
    Array.from({ length: count }, (_value, index) => pool[(group * count + index) % pool.length]!),
  );
}
