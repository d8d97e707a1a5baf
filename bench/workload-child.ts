/** The process of one workload. */
import { loadChecksum } from '../src/codec/checksum.ts';
import { measure } from './harness.ts';
import { answer, jobOf } from './processes.ts';
import type { Setting } from './workload.ts';
import { WORKLOADS } from './workloads.ts';

export interface WorkloadJob extends Setting {
  readonly name: string;
  readonly rounds: number;
}

const job = jobOf<WorkloadJob>();
const workload = WORKLOADS.find(({ name }) => name === job.name);
if (workload === undefined) throw new Error(`there is no workload ${job.name}`);
await loadChecksum();
await answer(await measure(workload, job, job.rounds));
