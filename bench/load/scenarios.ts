/** Load tests that between them show what a machine is like: arguments of `millrace load`. */

export interface Scenario {
  readonly name: string;
  readonly what: string;
  /** Records a second. */
  readonly rate: number;
  readonly seconds: number;
  readonly args: readonly string[];
}

const SECONDS = 20;

export const SCENARIOS: readonly Scenario[] = [
  scenario('steady', 'one producer, one append a record, and a follower', 10_000),
  scenario('batches', 'what a service sends that gathers what comes in', 100_000, '--batch', '64'),
  scenario('ramp', 'where this machine stops to keep up', 400_000, '--profile', 'ramp', '--batch', '256'),
  scenario('bursts', 'ten times the usual rate, a quarter of the time', 200_000, '--profile', 'burst', '--batch', '64'),
  scenario(
    'publishers',
    '64 publishers on 1,000 streams',
    10_000,
    '--streams',
    '1000',
    '--producers',
    '64',
    '--publishers',
  ),
  scenario('followers', 'eight followers of one stream', 20_000, '--followers', '8'),
  scenario(
    'compaction',
    'merges and key compaction beside appends',
    50_000,
    '--batch',
    '16',
    '--streams',
    '4',
    '--keys',
    '20000',
    '--eager-compaction',
  ),
];

function scenario(name: string, what: string, rate: number, ...args: readonly string[]): Scenario {
  return { name, what, rate, seconds: SECONDS, args };
}

/** The same in one second at a tenth of the rate: shows that it works, and nothing else. */
export function quick(full: Scenario): Scenario {
  return { ...full, seconds: 1, rate: full.rate / 10 };
}

/** Arguments behind `millrace load <dir>`. */
export function argumentsOf({ rate, seconds, args }: Scenario): string[] {
  return ['--rate', String(rate), '--seconds', String(seconds), ...args];
}
