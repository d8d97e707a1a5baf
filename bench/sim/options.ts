/** What `npm run sim` takes on its command line. */
import { parseArgs } from 'node:util';
import { GIB } from '../../src/limits/limits.ts';
import { parseCount } from '../options.ts';
import { type Prices, PRICES_DEFAULT } from './prices.ts';
import { type WorkloadOptions, WORKLOAD_DEFAULT } from './workload.ts';

export interface SimOptions {
  readonly workload: WorkloadOptions;
  readonly prices: Prices;
  readonly reads: ReadOptions;
  readonly days: number;
  readonly seed: number;
  /** Parts of names of settings; none means all. */
  readonly only: readonly string[];
  readonly html: string;
  readonly json: string | undefined;
  readonly quick: boolean;
  readonly help: boolean;
}

/** How often a byte that is written is read, apart from readers at the tail, whom the writer's memory serves. */
export interface ReadOptions {
  readonly perByte: number;
}

export const READS_DEFAULT: ReadOptions = { perByte: 0.5 };

const DAYS_DEFAULT = 30;
const DAYS_QUICK = 1;
const THINNING_QUICK = 1_024;

export const HELP: string = `usage: npm run sim -- [options]

Runs the planners and the coordinator's state machine of this checkout through simulated days of a fleet, and
reports objects, requests, amplification, dollars and deadlines, for the defaults and for other settings.

  --days <n>        simulated days (default ${DAYS_DEFAULT}, quick ${DAYS_QUICK})
  --thinning <n>    one burst of objects in so many is simulated
                    (default ${WORKLOAD_DEFAULT.thinning}, quick ${THINNING_QUICK})
  --rate <GiB/s>    of the whole fleet, as stored (default 1)
  --streams <n>     of the whole fleet (default ${WORKLOAD_DEFAULT.streams})
  --writers <n>     over which the streams are spread (default ${WORKLOAD_DEFAULT.writers})
  --skew <s>        exponent of Zipf's law over the streams (default ${WORKLOAD_DEFAULT.skew})
  --reads <n>       how often a byte is read from objects (default ${READS_DEFAULT.perByte})
  --price <list>    such as put=0.005,get=0.0004,storage=0.023,metadata=0.25,workerHour=0.04,delete=0: dollars for 1,000
                    requests, a GiB for 30 days, an hour of a worker
  --only <names>    settings whose name contains one of these, separated by commas; the defaults always run
  --seed <n>        the same seed gives the same figures (default 1)
  --html <file>     the report (default .data/simulation.html)
  --json <file>     the figures; - prints them instead of the table
  --quick           a day in seconds: shows that it works
`;

const FLAGS = {
  days: { type: 'string' },
  thinning: { type: 'string' },
  rate: { type: 'string' },
  streams: { type: 'string' },
  writers: { type: 'string' },
  skew: { type: 'string' },
  reads: { type: 'string' },
  price: { type: 'string', default: '' },
  only: { type: 'string', default: '' },
  seed: { type: 'string', default: '1' },
  html: { type: 'string', default: '.data/simulation.html' },
  json: { type: 'string' },
  quick: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

/** Throws an error that says what is wrong. */
export function parseSimOptions(args: readonly string[]): SimOptions {
  const { values } = parseArgs({ args: [...args], options: FLAGS });
  const { quick, help, html, json } = values;
  const count = (name: 'days' | 'thinning' | 'streams' | 'writers' | 'seed', fallback: number): number => {
    const text = values[name];
    return text === undefined ? fallback : parseCount(name, text);
  };
  return {
    workload: {
      ...WORKLOAD_DEFAULT,
      bytesPerSecond: parseNumber('rate', values.rate, 1) * GIB,
      streams: count('streams', WORKLOAD_DEFAULT.streams),
      writers: count('writers', WORKLOAD_DEFAULT.writers),
      thinning: count('thinning', quick ? THINNING_QUICK : WORKLOAD_DEFAULT.thinning),
      skew: parseNumber('skew', values.skew, WORKLOAD_DEFAULT.skew),
    },
    prices: parsePrices(values.price),
    reads: { perByte: parseNumber('reads', values.reads, READS_DEFAULT.perByte) },
    days: count('days', quick ? DAYS_QUICK : DAYS_DEFAULT),
    seed: count('seed', 1),
    only: values.only.split(',').filter((name) => name !== ''),
    html,
    json,
    quick,
    help,
  };
}

function parseNumber(name: string, text: string | undefined, fallback: number): number {
  const value = text === undefined ? fallback : Number(text);
  if (Number.isFinite(value) && value >= 0 && text !== '') return value;
  throw new Error(`--${name} takes a number from 0 on, not ${JSON.stringify(text)}`);
}

export function parsePrices(list: string): Prices {
  const prices: Record<string, number> = { ...PRICES_DEFAULT };
  for (const entry of list.split(',').filter((text) => text !== '')) {
    const [name = '', value] = entry.split('=');
    if (!Object.hasOwn(PRICES_DEFAULT, name)) {
      throw new Error(`--price knows ${Object.keys(PRICES_DEFAULT).join(', ')}, not ${JSON.stringify(name)}`);
    }
    prices[name] = parseNumber('price', value ?? '', 0);
  }
  return prices as unknown as Prices;
}
