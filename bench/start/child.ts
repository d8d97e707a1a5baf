/**
 * The process that is going to be killed: ingests the plan and reports every acknowledged range. Arguments: directory
 * of the store, and bytes.
 */
import { writeSync } from 'node:fs';
import { open } from '../../src/index.ts';
import { loadCorpus } from './corpus.ts';
import { ingest, openStreams } from './ingest.ts';
import { figuresOf, newHistograms } from './latency.ts';
import { encodeMessage, type Message, REPORT_DESCRIPTOR } from './messages.ts';
import { Plan } from './plan.ts';

const LATENCY_EVERY_ACKS = 256;

const [dir = '', bytes = ''] = process.argv.slice(2);
const plan = new Plan(loadCorpus(), Number(bytes));
const store = await open(dir);
const streams = await openStreams(store, plan);
const latency = newHistograms();
let acknowledgements = 0;

/** Blocking, so that nothing is appended on the strength of an acknowledgement that the parent has not been told of. */
function report(message: Message): void {
  const line = Buffer.from(encodeMessage(message));
  for (let done = 0; done < line.length;) done += writeSync(REPORT_DESCRIPTOR, line, done);
}

report({ type: 'open' });
await ingest(streams, plan, {
  latency,
  acknowledged: (stream, first, next) => {
    report({ type: 'acknowledged', stream, first, next });
    acknowledgements += 1;
    if (acknowledgements % LATENCY_EVERY_ACKS === 0) report({ type: 'latency', figures: figuresOf(latency) });
  },
});
await store.close();
