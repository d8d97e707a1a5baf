/** The page around the sections. */
import type { PeerResults } from '../peers/results.ts';
import type { Results } from '../results.ts';
import { BAR_STYLE } from './bars.ts';
import { benchSection } from './bench-section.ts';
import { htmlPage } from '../../src/report/page.ts';
import { peerSection } from './peer-section.ts';
import { factsSection, summarySection } from './summary-section.ts';

export interface ReportInput {
  readonly bench: Results | undefined;
  readonly peers: PeerResults | undefined;
}

/** At least one of both is there. */
export function reportPage({ bench, peers }: ReportInput): string {
  const runs = [peers, bench].filter((run) => run !== undefined);
  const parts = [
    summarySection(bench, peers),
    factsSection(runs),
    ...(peers === undefined ? [] : [peerSection(peers)]),
    ...(bench === undefined ? [] : [benchSection(bench)]),
  ];
  return htmlPage('millrace benchmarks', parts, BAR_STYLE);
}
