/** `millrace load`: what a machine can take, and how long it takes for it. */
import { closeSync, existsSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { parseDirectory, parseLimit, parsePositive } from './arguments.ts';
import { examples } from './help.ts';
import { interruptible } from './interruption.ts';
import { type LoadSettings, PROFILES, type ProfileName, STAMP_BYTES } from './load/settings.ts';
import { note, print, printJson } from './output.ts';
import { startProgress } from './progress.ts';
import { asUsage, EXIT, usageError } from './failure.ts';

interface LoadOptions {
  readonly profile: ProfileName;
  readonly rate: number;
  readonly lowRate?: number;
  readonly seconds: number;
  readonly warmUp: number;
  readonly period: number;
  readonly size: number;
  readonly batch: number;
  readonly streams: number;
  readonly producers: number;
  readonly publishers?: true;
  readonly threads: number;
  readonly followers: number;
  readonly keys: number;
  readonly eagerCompaction?: true;
  readonly slots?: number;
  readonly slotBytes?: number;
  readonly maxInFlight: number;
  readonly report?: string;
  readonly remove?: true;
  readonly json?: true;
}

const RATE_DEFAULT = 10_000;
const SECONDS_DEFAULT = 10;
const PERIOD_DEFAULT = 4;
const IN_FLIGHT_DEFAULT = 65_536;
/** Of the rate, where none is given. */
const LOW_SHARE = 0.1;

export function loadCommand(): Command {
  return new Command('load')
    .summary('measure what this machine can take')
    .description(
      'Sends records at a set rate, whatever becomes of the earlier ones, and reports how long each took from when ' +
        'it was due until it was durable, and until a follower had read it. Makes the store, which stays for another ' +
        'test. Exit code 1 when a record was refused or never sent.',
    )
    .argument('<dir>', 'directory of the store, on the disk in question', parseDirectory)
    .addOption(
      new Option('--profile <name>', 'how the rate changes: steady, up a ramp, or in bursts')
        .choices(PROFILES)
        .default('steady'),
    )
    .option('--rate <n>', 'records a second; the most of them with ramps and bursts', parsePositive, RATE_DEFAULT)
    .option('--low-rate <n>', 'where ramps begin and bursts end (default: a tenth)', parsePositive)
    .option('--seconds <n>', 'how long', parsePositive, SECONDS_DEFAULT)
    .option('--warm-up <n>', 'seconds before them that are not counted', parseLimit, 1)
    .option('--period <n>', 'seconds from burst to burst', parsePositive, PERIOD_DEFAULT)
    .option('--size <bytes>', 'of a record', parsePositive, 1_024)
    .option('--batch <n>', 'records that share a call of appendMany, at most', parsePositive, 1)
    .option('--streams <n>', 'streams', parsePositive, 1)
    .option('--producers <n>', 'producers, which share the rate', parsePositive, 1)
    .option('--publishers', 'producers are publishers, whose records are deduplicated')
    .option('--threads <n>', 'threads for the producers, with a lane each; 0: the one of the store', parseLimit, 0)
    .option('--followers <n>', 'consumers that follow a stream each', parseLimit, 1)
    .option('--keys <n>', 'different keys of records, in streams compacted by key; 0: none', parseLimit, 0)
    .option('--eager-compaction', 'merge segments after seconds instead of minutes')
    .option('--slots <n>', 'slots of the ring (default: 4, or what the store has)', parsePositive)
    .option('--slot-bytes <n>', 'bytes of a slot (default: 32 MiB, or what the store has)', parsePositive)
    .option('--max-in-flight <n>', 'records that wait for their answer, at most', parsePositive, IN_FLIGHT_DEFAULT)
    .option('--report <file>', 'write a page with plots there')
    .option('--remove', 'delete the directory at the end, if this command made it')
    .option('--json', 'print the result, samples included, as a JSON object')
    .addHelpText(
      'after',
      examples(
        'millrace load ./data-load --rate 50000 --seconds 30 --report load.html',
        'millrace load ./data-load --profile ramp --rate 500000 --batch 256',
        'millrace load ./data-load --streams 1000 --producers 16 --publishers --followers 4',
        'millrace load ./data-load --threads 2 --streams 2 --rate 200000 --batch 64',
        'millrace load ./data-load --keys 10000 --eager-compaction --seconds 60 --remove',
      ),
    )
    .action((dir: string, options: LoadOptions) => load(dir, options));
}

async function load(dir: string, options: LoadOptions): Promise<void> {
  checkOptions(options);
  if (options.report !== undefined) checkReport(options.report);
  const made = !existsSync(dir);
  try {
    await asUsage(() => measure(settingsOf(dir, options), options));
  } finally {
    if (made && options.remove === true) rmSync(dir, { recursive: true, force: true });
  }
}

async function measure(settings: LoadSettings, { report, json }: LoadOptions): Promise<void> {
  // Loaded here: no other command needs them.
  const { runLoad } = await import('./load/run.ts');
  const { sampleText, loadText } = await import('./load/text.ts');
  const { keptUp } = await import('./load/result.ts');
  const { recordsDue, segmentsOf } = await import('./load/profile.ts');
  const { recordBytes } = settings;
  const progress = startProgress('load', Math.round(recordsDue(segmentsOf(settings), Infinity)) * recordBytes);
  let acknowledged = 0;
  const result = await interruptible((signal) =>
    runLoad(settings, {
      command: ['millrace', ...process.argv.slice(2)].join(' '),
      signal,
      sampled: (sample, records) => {
        acknowledged += records;
        progress.update(acknowledged * recordBytes, sampleText(sample));
      },
    }),
  ).finally(() => {
    progress.end();
  });
  await (json === true ? printJson(result) : print(loadText(result)));
  if (!keptUp(result)) process.exitCode = EXIT.failed;
  if (report === undefined) return;
  const { loadPage } = await import('./load/page.ts');
  writeFileSync(report, loadPage(result));
  note(`the report is ${resolve(report)}`, json === true);
}

/** What no single option can tell. */
function checkOptions({ size, threads, streams, publishers }: LoadOptions): void {
  const problem =
    size < STAMP_BYTES
      ? `A record of a load test is at least ${STAMP_BYTES} bytes, for the time it carries.`
      : threads > streams
        ? `A stream is in one thread: use --streams ${threads} or more with --threads ${threads}.`
        : threads > 0 && publishers === true
          ? 'Publishers are in the thread of the store: leave out --threads or --publishers.'
          : undefined;
  if (problem !== undefined) throw new InvalidArgumentError(problem);
}

/** Before the test: what it found would be lost. */
function checkReport(path: string): void {
  const isNew = !existsSync(path);
  try {
    closeSync(openSync(path, 'a'));
    if (isNew) rmSync(path);
  } catch (error) {
    throw usageError(`the report cannot be written (${String(error)}): name a file that you may write with --report`);
  }
}

function settingsOf(dir: string, options: LoadOptions): LoadSettings {
  const { rate, lowRate = Math.max(1, Math.round(rate * LOW_SHARE)) } = options;
  return {
    dir,
    profile: options.profile,
    rate,
    lowRate,
    seconds: options.seconds,
    warmUpSeconds: options.warmUp,
    period: options.period,
    recordBytes: options.size,
    batch: options.batch,
    streams: options.streams,
    producers: options.producers,
    publishers: options.publishers === true,
    threads: options.threads,
    followers: options.followers,
    keys: options.keys,
    eagerCompaction: options.eagerCompaction === true,
    slots: options.slots,
    slotBytes: options.slotBytes,
    maxInFlight: options.maxInFlight,
  };
}
