/** Results as a run would have written them. */
import { type FigureResult, type Results, RESULTS_VERSION } from '../../bench/results.ts';
import type { Target } from '../../bench/workload.ts';

export function figure(more: Partial<FigureResult> = {}): FigureResult {
  return { name: 'rate', unit: 'records/s', better: 'higher', millrace: [80], floor: [100], ...more };
}

export function targeted(target: Target, more: Partial<FigureResult> = {}): FigureResult {
  return figure({ target, ...more });
}

export function resultsOf(figures: readonly FigureResult[], more: Partial<Results> = {}): Results {
  return {
    version: RESULTS_VERSION,
    kind: 'bench',
    startedAt: '2026-01-01T00:00:00.000Z',
    command: 'npm run bench --',
    quick: false,
    machine: {
      processor: 'a processor',
      cores: 2,
      memoryBytes: 2 ** 30,
      system: 'linux',
      node: 'v20',
      fileSystem: { kind: 'ext4', device: 'disk', options: '' },
    },
    workloads: [{ name: 'burst', what: 'appends', floor: 'copies', figures, seconds: 1 }],
    ...more,
  };
}
