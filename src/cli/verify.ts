/** `millrace verify`: every invariant and every byte. */
import { Command } from 'commander';
import type { HeldRange, VerifyProblem, VerifyReport } from '../store/verify.ts';
import { EXIT } from './failure.ts';
import { examples } from './help.ts';
import { inspectLog, type LogInspection, NO_LOG, unflushedTotal } from './log-inspection.ts';
import { print, printJson } from './output.ts';
import { openPlace, type Place, PLACE_EXAMPLE, placeOf, type PlaceOptions, withPlace } from './place.ts';
import { interruptible } from './interruption.ts';
import { withProgress } from './progress.ts';
import { forShell } from './shell-words.ts';
import { bytes, counted } from './text.ts';

/** Of a segment with many streams, so many are named; --json names all. */
const NAMED_MAX = 8;

export function verifyCommand(): Command {
  return withPlace(new Command('verify'))
    .summary('check a store for damage')
    .description(
      'Checks the manifest, every byte of every segment, and the write-ahead log. Changes nothing, and works while ' +
        'another process has the store open. Exit code 1 when anything is damaged.',
    )
    .option('--json', 'print the report as a JSON object')
    .addHelpText(
      'after',
      examples(
        'millrace verify ./data && echo intact',
        'millrace verify ./data --json | jq .problems',
        `millrace verify ${PLACE_EXAMPLE}`,
      ),
    )
    .action((dir: string | undefined, options: PlaceOptions & { readonly json?: true }) =>
      verify(placeOf(dir, options), options.json === true),
    );
}

async function verify(place: Place, json: boolean): Promise<void> {
  const report = await verifySegments(place);
  const log: LogInspection = place.dir === undefined ? NO_LOG : await inspectLog(place.dir, 'everything');
  const problems = [...report.problems, ...log.problems];
  if (problems.length > 0) process.exitCode = EXIT.failed;
  if (json) {
    const { objects, bytes: size, chunks, records } = report;
    const unflushedRecords = unflushedTotal(log);
    await printJson({
      intact: problems.length === 0,
      objects,
      bytes: size,
      chunks,
      records,
      unflushedRecords,
      problems,
    });
    return;
  }
  for (const problem of problems)
    await print(`damaged: ${problem.where}: ${forShell(problem.problem)}${held(problem)}\n`);
  await print(`${problems.length === 0 ? 'intact' : counted(problems.length, 'problem')}: ${summary(report, log)}\n`);
}

async function verifySegments(place: Place): Promise<VerifyReport> {
  const store = await openPlace(place, true);
  try {
    return await interruptible((signal) => withProgress('verify', (progress) => store.verify({ signal, progress })));
  } finally {
    await store.close();
  }
}

function summary(report: VerifyReport, log: LogInspection): string {
  const segments = `${counted(report.records, 'record')} in ${counted(report.objects, 'segment')}`;
  return `${segments} (${bytes(report.bytes)}), ${counted(unflushedTotal(log), 'record')} in the log only`;
}

function held({ held: ranges = [] }: VerifyProblem): string {
  if (ranges.length === 0) return '';
  const named = ranges.slice(0, NAMED_MAX).map(nameOf);
  const rest = ranges.length > NAMED_MAX ? [counted(ranges.length - NAMED_MAX, 'more range')] : [];
  return `; it held ${[...named, ...rest].join(', ')}`;
}

/** A run without records holds what consumers and publishers have stored. */
function nameOf({ stream, firstOffset, nextOffset }: HeldRange): string {
  if (firstOffset === nextOffset) return `consumers of ${stream}`;
  return `${stream} ${firstOffset} to ${nextOffset - 1}`;
}
