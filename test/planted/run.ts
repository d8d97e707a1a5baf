/** Runs a suite in a scratch tree, and says what it noticed. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Suite } from './bug.ts';
import type { ScratchTree } from './tree.ts';

/** Far above what any of the suites needs, also on a machine that does much else. */
const PATIENCE = 300;
const FAILED_TEST = /^\s*not ok \d+ - (.*)$/m;
const PASSED_TESTS = /^# pass (\d+)$/m;

export interface Outcome {
  /** A test failed, or the process did, or it did not end. */
  readonly red: boolean;
  /** Tests that passed: none where a filter matches nothing, or everything is skipped on this machine. */
  readonly passed: number;
  /** The first test that failed, or the last line that was printed. */
  readonly noticed: string;
  readonly seconds: number;
  /** All that it printed. */
  readonly output: string;
}

/**
 * Ends the suite at its first failing test: what the others would say is not asked. A test that waits for ever is
 * noticed after `patience` seconds.
 */
export async function runSuite(tree: ScratchTree, suite: Suite, patience: number = PATIENCE): Promise<Outcome> {
  const started = performance.now();
  const { code, output, hung } = await run(tree, argumentsOf(tree, suite), patience);
  const failed = FAILED_TEST.exec(output)?.[1];
  const red = hung || failed !== undefined || code !== 0;
  const passed = Number(PASSED_TESTS.exec(output)?.[1] ?? 0);
  const noticed = hung ? `no end within ${patience.toFixed(0)} s` : (failed ?? lastLine(output));
  return { red, passed, noticed, seconds: (performance.now() - started) / 1_000, output };
}

function argumentsOf({ root }: ScratchTree, { file, only }: Suite): string[] {
  const pattern = only.replace(/[^\w ]/g, '\\$&');
  return ['--test-reporter=tap', `--test-name-pattern=${pattern}`, join(root, 'dist/test', `${file}.test.js`)];
}

function run(
  { root, temporary }: ScratchTree,
  args: readonly string[],
  patience: number,
): Promise<{ code: number | null; output: string; hung: boolean }> {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  return new Promise((resolve, reject) => {
    // A group of its own: what a test started ends with it.
    const child = spawn(process.execPath, args, {
      cwd: root,
      env: { ...env, TMPDIR: temporary },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: process.platform !== 'win32',
    });
    let output = '';
    let hung = false;
    const take = (part: Buffer): void => {
      output += String(part);
      if (FAILED_TEST.test(output)) end(child.pid);
    };
    const timer = setTimeout(() => {
      hung = true;
      end(child.pid);
      // A process that left the group may hold the other ends.
      child.stdout.destroy();
      child.stderr.destroy();
    }, 1_000 * patience);
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    child.on('error', reject);
    child.on('exit', () => {
      end(child.pid);
    });
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ code, output, hung });
    });
  });
}

function end(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

function lastLine(output: string): string {
  return output.trimEnd().split('\n').at(-1) ?? '';
}
