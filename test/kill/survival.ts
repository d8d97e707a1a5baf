/** Lets a process survive something, and holds what it says, and the store it leaves, against what was acknowledged. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { Content, Expectation } from './expectation.ts';
import { REPORT_DESCRIPTOR, ReportReader } from './reports.ts';
import type { Sample } from './sampler.ts';
import type { Survival, Trial } from './survivor.ts';

const CHILD: string = join(import.meta.dirname, 'survivor.js');
/** Far above what any of it needs: whoever is still there has hung. */
const TIMEOUT = 240_000;

export interface SurvivalOptions {
  readonly trial: Omit<Trial, 'seen' | 'publishFrom'>;
  readonly scratch: string;
  readonly expectation: Expectation;
  readonly environment?: Readonly<Record<string, string>>;
  /** Called when its store is open. */
  readonly opened?: () => void;
  /** Called when its first record was acknowledged. */
  readonly acknowledged?: () => void;
  readonly sampled?: (sample: Sample) => void;
  /** Kills the process when it fires. */
  readonly kill?: AbortSignal;
  /** Arguments of Node itself. */
  readonly nodeArguments?: readonly string[];
}

/** Rejects when the process does not survive, hangs, or cannot read what it was told to be durable. */
export async function survive(options: SurvivalOptions): Promise<Survival> {
  const survival = await live(options);
  assert.ok(survival !== undefined, 'the process was killed');
  return survival;
}

/** As `survive`, and resolves with `undefined` when the process was killed by `options.kill`. */
export async function live(options: SurvivalOptions): Promise<Survival | undefined> {
  const { scratch, expectation } = options;
  const seen = join(scratch, 'seen.json');
  rmSync(seen, { force: true });
  const survival = await run({ ...options.trial, publishFrom: expectation.publishFrom(), seen }, options);
  if (survival === undefined) return undefined;
  for (const code of [...survival.errors, survival.append, survival.merge, survival.close]) {
    assert.doesNotMatch(code, /^uncoded/);
  }
  assert.ok(survival.descriptors <= 0, `${survival.descriptors} descriptors are left open`);
  if (survival.close !== 'not open') {
    assert.ok(existsSync(seen), 'reads go on');
    expectation.checkSeen(new Map(JSON.parse(readFileSync(seen, 'utf8')) as [string, Content][]));
  }
  return survival;
}

function run(
  trial: Trial,
  { environment, nodeArguments = [], expectation, opened, acknowledged, sampled, kill }: SurvivalOptions,
): Promise<Survival | undefined> {
  const child = spawn(process.execPath, [...nodeArguments, CHILD, JSON.stringify(trial)], {
    stdio: ['ignore', 'inherit', 'pipe', 'pipe'],
    env: { ...process.env, ...environment },
  });
  let complaints = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaints += text;
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), trial.milliseconds + TIMEOUT);
  const end = (): boolean => child.kill('SIGKILL');
  kill?.addEventListener('abort', end);
  let survival: Survival | undefined;
  let hasRecords = false;
  const reader = new ReportReader();
  (child.stdio[REPORT_DESCRIPTOR] as Readable).setEncoding('utf8').on('data', (text: string) => {
    for (const report of reader.push(text)) {
      if (report.type === 'open') opened?.();
      if (report.type === 'sample') sampled?.(report);
      if (report.type === 'survived') survival = report;
      else expectation.add(report);
      if (report.type === 'appended' && !hasRecords) {
        hasRecords = true;
        acknowledged?.();
      }
    }
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      kill?.removeEventListener('abort', end);
      if (kill?.aborted === true || (code === 0 && survival !== undefined)) resolve(survival);
      else reject(new Error(`the process ended with ${code ?? signal ?? 'nothing'}: ${complaints}`));
    });
  });
}
