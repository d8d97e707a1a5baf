/** What `npm run bench:heat-death` takes on its command line. */
import { parseArgs } from 'node:util';

export interface HeatDeathOptions {
  readonly seconds: number;
  readonly json: string | undefined;
  readonly html: string;
  readonly help: boolean;
}

export const HELP = `usage: npm run bench:heat-death -- [options]

Simulates a stream with one user record a second and 500 readers that commit their offsets 100 times a second each, with
64 MiB of retention: does user data stay, and what does each measure against tracking buy?

  --quick        two hours instead of a week
  --days <n>     simulated days (default 7)
  --json <file>  write the figures there; - writes them to stdout instead of the text
  --html <file>  write the report with its plots there (default .data/heat-death.html)
`;

const DAY = 86_400;
const QUICK_SECONDS = 7_200;

/** Throws an error that says what is wrong. */
export function parseHeatDeathOptions(args: readonly string[]): HeatDeathOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      days: { type: 'string' },
      json: { type: 'string' },
      html: { type: 'string', default: '.data/heat-death.html' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const days = Number(values.days ?? '7');
  if (!(days > 0 && days <= 365))
    throw new Error(`--days takes a number up to 365, not ${JSON.stringify(values.days)}`);
  const seconds = values.quick ? QUICK_SECONDS : Math.ceil(days * DAY);
  return { seconds, json: values.json, html: values.html, help: values.help };
}
