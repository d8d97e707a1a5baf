#!/usr/bin/env node
/** The command `millrace`. */
import { reportFailure } from './failure.ts';
import { watchOutput } from './output.ts';
import { run } from './program.ts';

watchOutput();
try {
  await run(process.argv.slice(2));
} catch (error) {
  // The arguments may be what is wrong, so they are not asked through the parser.
  process.exitCode = reportFailure(error, process.argv.includes('--json'));
}
