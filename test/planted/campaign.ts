/**
 * `npm run test:planted -- [--only <text>] [--count <number> [--seed <number>]] [--jobs <number>] [--list]
 * [--json <file>]`: plants known bugs into a copy of the compiled tree, one at a time, and fails when the tests miss
 * one. `--count` takes so many of them; seeds that follow each other take all in turns, and today is the default.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { isPostgresThere } from '../support/postgres-server.ts';
import type { PlantedBug } from './bug.ts';
import { PLANTED_BUGS, tableOf, turnOf } from './catalogue.ts';
import { huntAll, runGreen, type Verdict } from './schedule.ts';
import { ScratchTree } from './tree.ts';

const DAY = 86_400_000;

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    count: { type: 'string' },
    seed: { type: 'string', default: String(Math.floor(Date.now() / DAY)) },
    jobs: { type: 'string', default: '2' },
    list: { type: 'boolean', default: false },
    json: { type: 'string' },
  },
});

function tell({ bug: { name, caughtBy }, caught, noticed, seconds }: Verdict): void {
  const fate = caught ? `${caughtBy.file}: ${noticed}` : `SURVIVED ${caughtBy.file}: ${caughtBy.only}`;
  console.log(`${seconds.toFixed(1).padStart(5)} s  ${name.padEnd(52)}  ${fate}`);
}

function save(file: string, verdicts: readonly Verdict[]): void {
  const plain = verdicts.map(({ bug: { name, file: planted, breaks, caughtBy }, ...fate }) => {
    return { name, file: planted, breaks, caughtBy, ...fate };
  });
  writeFileSync(file, `${JSON.stringify(plain, null, 2)}\n`);
}

async function hunt(bugs: readonly PlantedBug[]): Promise<number> {
  const started = performance.now();
  const trees = Array.from({ length: Number(values.jobs) }, () => new ScratchTree());
  try {
    const green = await runGreen(trees, bugs);
    const red = [...green].filter(([, outcome]) => outcome.red || outcome.passed === 0);
    for (const [suite, { output }] of red)
      console.error(`not green without a bug, or nothing of that name ran: ${suite}\n${output}`);
    if (red.length > 0) return 1;
    const verdicts = await huntAll(trees, bugs, green, tell);
    if (values.json !== undefined) save(values.json, verdicts);
    const caught = verdicts.filter((verdict) => verdict.caught).length;
    const took = ((performance.now() - started) / 1_000).toFixed(0);
    const seed = values.count === undefined ? '' : `, seed ${values.seed}`;
    console.log(`${caught} of ${verdicts.length} caught in ${took} s${seed}`);
    return caught === verdicts.length ? 0 : 1;
  } finally {
    for (const tree of trees) tree.remove();
  }
}

/** Says of the others why they are left out. */
function possible(bugs: readonly PlantedBug[]): PlantedBug[] {
  const missing = isPostgresThere() ? undefined : 'its tests need PostgreSQL, which is not installed here';
  const [left, kept] = [bugs.filter(({ needs }) => needs !== undefined && missing !== undefined), new Set(bugs)];
  for (const bug of left) {
    kept.delete(bug);
    console.log(`left out, for ${missing}: ${bug.name}`);
  }
  return [...kept];
}

const named = PLANTED_BUGS.filter(({ name }) => name.includes(values.only));
const chosen = values.count === undefined ? named : turnOf(named, Number(values.count), Number(values.seed));
if (chosen.length === 0) throw new Error(`no planted bug has ${values.only} in its name`);
if (values.list) console.log(tableOf(chosen));
else process.exitCode = await hunt(possible(chosen));
