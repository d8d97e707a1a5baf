/** The page around the sections. */
import { machineText } from '../../src/cli/machine.ts';
import type { PeerResults } from '../peers/results.ts';
import type { Results } from '../results.ts';
import { BAR_STYLE } from './bars.ts';
import { benchSection } from './bench-section.ts';
import { escape } from '../../src/report/html.ts';
import { htmlPage } from '../../src/report/page.ts';
import { peerSection } from './peer-section.ts';

export interface ReportInput {
  readonly bench: Results | undefined;
  readonly peers: PeerResults | undefined;
}

/** At least one of both is there. */
export function reportPage({ bench, peers }: ReportInput): string {
  const parts = [
    ...(bench === undefined ? [] : [factsOf(bench), benchSection(bench)]),
    ...(peers === undefined ? [] : [factsOf(peers), peerSection(peers)]),
  ];
  return htmlPage('millrace benchmarks', parts, BAR_STYLE);
}

/** What a figure depends on, and how to get it again. */
function factsOf({ machine, command, startedAt, quick }: Results | PeerResults): string {
  return [
    `<pre>${escape(machineText(machine).trimEnd())}\nstarted      ${escape(startedAt)}</pre>`,
    `<p>To repeat it: <code>${escape(command)}</code>, in a checkout of the same version.</p>`,
    quick ? '<p class="missed">A quick run: it shows that the suite works, and its figures say nothing.</p>' : '',
  ].join('\n');
}
