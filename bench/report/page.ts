/** The page around the sections: one file that needs nothing else, in light and dark. */
import { machineText } from '../format.ts';
import type { PeerResults } from '../peers/results.ts';
import type { Results } from '../results.ts';
import { benchSection } from './bench-section.ts';
import { escape } from './html.ts';
import { peerSection } from './peer-section.ts';

const STYLE = `
:root { color-scheme: light dark; --ink: #1c2128; --soft: #59636e; --paper: #ffffff; --line: #d1d9e0; --panel: #f6f8fa;
  --millrace: #0969da; --floor: #9aa4af; --peer: #6e7781; --volatile: #d4a72c; --met: #1a7f37; --missed: #cf222e; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --soft: #9198a1; --paper: #0d1117; --line: #3d444d; --panel: #161b22;
    --millrace: #58a6ff; --floor: #6e7681; --peer: #8b949e; --volatile: #bb8009; --met: #3fb950; --missed: #f85149; }
}
body { margin: 0 auto; padding: 1.5rem; max-width: 56rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1, h2, h3, h4 { line-height: 1.25; margin: 1.5em 0 0.5em; }
h2 { border-bottom: 1px solid var(--line); padding-bottom: 0.25em; }
h4 { font-weight: 500; color: var(--soft); margin: 0.75em 0 0.25em; }
pre { background: var(--panel); padding: 0.75rem; overflow-x: auto; border-radius: 6px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.875rem; }
th, td { padding: 0.25rem 0.75rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap;
  font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 500; }
thead th { color: var(--soft); }
.met { color: var(--met); } .missed { color: var(--missed); font-weight: 600; } .note { color: var(--soft); }
svg { width: 100%; height: auto; font: 13px system-ui, sans-serif; }
svg text { fill: var(--ink); }
svg .label { text-anchor: end; fill: var(--soft); }
svg .millrace { fill: var(--millrace); } svg .floor { fill: var(--floor); } svg .peer { fill: var(--peer); }
svg .volatile { fill: var(--volatile); }
svg .range { stroke: var(--ink); stroke-width: 1.5; }
svg .mark { stroke: var(--missed); stroke-width: 1.5; stroke-dasharray: 3 2; }
svg .axis { stroke: var(--line); } svg .curve { fill: none; stroke: var(--millrace); stroke-width: 2; }
summary { cursor: pointer; color: var(--soft); }
`;

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
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<title>millrace benchmarks</title>',
    `<style>${STYLE}</style>`,
    '</head>',
    '<body>',
    '<h1>millrace benchmarks</h1>',
    ...parts,
    '</body>',
    '</html>',
    '',
  ].join('\n');
}

/** What a figure depends on, and how to get it again. */
function factsOf({ machine, command, startedAt, quick }: Results | PeerResults): string {
  return [
    `<pre>${escape(machineText(machine).trimEnd())}\nstarted      ${escape(startedAt)}</pre>`,
    `<p>To repeat it: <code>${escape(command)}</code>, in a checkout of the same version.</p>`,
    quick ? '<p class="missed">A quick run: it shows that the suite works, and its figures say nothing.</p>' : '',
  ].join('\n');
}
