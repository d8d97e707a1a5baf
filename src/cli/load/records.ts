/** Records that look like an application's: JSON of an exact size, more of it than a codec's window holds. */

/** Of every pool, a power of two, so that picking the next one is cheap. */
const POOL_BYTES = 4 * 1024 * 1024;
const POOL_RECORDS_MAX = 4_096;
const SERVICES = ['checkout', 'search', 'mail', 'ledger', 'images', 'login'];
const LEVELS = ['info', 'info', 'info', 'notice', 'warning', 'error'];
const GOODS = ['wheat flour', 'rye flour', 'oat flakes', 'millstone', 'sack', 'sieve', 'yeast', 'sourdough', 'salt'];
const COLOURS = ['white', 'brown', 'grey', 'blue'];

const NOTE = '],"note":"';

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
    return choices[this.below(choices.length)] as string;
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
    `"level":"${sequence.of(LEVELS)}","items":[`;
  const tail = '"}';
  let items = '';
  for (let room = bytes - head.length - tail.length; items.length < room;) items += `${item(sequence)},`;
  const room = bytes - head.length - tail.length - NOTE.length;
  if (room < 0) throw new RangeError(`no record is as short as ${bytes} bytes`);
  // Whole items as far as they go; the rest of the exact size is a note.
  const end = items.lastIndexOf('},', room - 1);
  const whole = end < 0 ? '' : items.slice(0, end + 1);
  return Buffer.from(head + whole + NOTE + items.slice(0, room - whole.length).replaceAll('"', ' ') + tail);
}

/** An order's line: names repeat from record to record and values do not, as in most JSON. */
function item(sequence: Sequence): string {
  const { article, count, price } = {
    article: sequence.below(1e8),
    count: sequence.below(20),
    price: sequence.below(1e5),
  };
  return (
    `{"article":"A-${article}","name":"${sequence.of(GOODS)}","colour":"${sequence.of(COLOURS)}","count":${count},` +
    `"price":${price / 100},"currency":"EUR"}`
  );
}

/** Groups of `count` records, one after the other through the pool: what `appendMany` is called with. */
export function recordGroups(pool: readonly Buffer[], count: number): Buffer[][] {
  const groups = Math.max(1, Math.floor(pool.length / count));
  return Array.from({ length: groups }, (_, group) =>
    Array.from({ length: count }, (_value, index) => pool[(group * count + index) % pool.length] as Buffer),
  );
}
