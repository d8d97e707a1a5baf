#!/usr/bin/env node
/** The command `millrace`. */
import { reportFailure } from './failure.ts';
import { watchOutput } from './output.ts';
import { commandOf, run } from './program.ts';

watchOutput();
const args: readonly string[] = process.argv.slice(2);
try {
  await run(args);
} catch (error) {
  // The arguments may be what is wrong, so they are not asked through the parser.
  process.exitCode = reportFailure(error, args.includes('--json'), commandOf(args));
}
