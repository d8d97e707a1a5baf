/** How reports with plots look, in light and dark. */
const STYLE = `
:root { color-scheme: light dark; --ink: #1c2128; --soft: #59636e; --paper: #ffffff; --line: #d1d9e0; --panel: #f6f8fa;
  --c0: #0969da; --c1: #1a7f37; --c2: #bf8700; --c3: #8250df; --c4: #cf222e;
  --c5: #57606a; --c6: #0a7ea4; --c7: #b35900; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --soft: #9198a1; --paper: #0d1117; --line: #3d444d; --panel: #161b22;
    --c0: #58a6ff; --c1: #3fb950; --c2: #d29922; --c3: #a371f7; --c4: #f85149;
    --c5: #8b949e; --c6: #39c5cf; --c7: #f0883e; }
}
body { margin: 0 auto; padding: 1.5rem; max-width: 60rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1, h2 { line-height: 1.25; margin: 1.5em 0 0.5em; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.8125rem; }
th, td { padding: 0.2rem 0.6rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap;
  font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 500; }
thead th, .note { color: var(--soft); }
svg { width: 100%; height: auto; font: 12px system-ui, sans-serif; }
svg text { fill: var(--ink); } svg .label { text-anchor: end; fill: var(--soft); } svg .axis { stroke: var(--line); }
.key { display: inline-block; width: 0.7em; height: 0.7em; margin: 0 0.3em 0 0.9em; }
`;
const COLOURS = Array.from(
  { length: 8 },
  (_, index) =>
    `rect.part-${index} { fill: var(--c${index}); } .key.part-${index} { background: var(--c${index}); } ` +
    `.line.part-${index} { fill: none; stroke: var(--c${index}); stroke-width: 2; }`,
).join('\n');

export const PAGE_STYLE: string = `${STYLE}${COLOURS}`;
