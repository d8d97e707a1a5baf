/** How reports look, in light and dark. Parts of charts are `part-<index>`, in the order in which they are named. */
const STYLE = `
:root { color-scheme: light dark; --ink: #1c2128; --soft: #59636e; --paper: #ffffff; --line: #d1d9e0; --panel: #f6f8fa;
  --met: #1a7f37; --missed: #cf222e;
  --c0: #0969da; --c1: #1a7f37; --c2: #bf8700; --c3: #8250df; --c4: #cf222e;
  --c5: #57606a; --c6: #0a7ea4; --c7: #b35900; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --soft: #9198a1; --paper: #0d1117; --line: #3d444d; --panel: #161b22;
    --met: #3fb950; --missed: #f85149;
    --c0: #58a6ff; --c1: #3fb950; --c2: #d29922; --c3: #a371f7; --c4: #f85149;
    --c5: #8b949e; --c6: #39c5cf; --c7: #f0883e; }
}
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { margin: 0 auto; padding: clamp(0.75rem, 3vw, 2rem); max-width: 68rem; }
h1, h2, h3, h4 { line-height: 1.25; margin: 1.5em 0 0.5em; }
h1 { margin-top: 0; }
h2 { border-bottom: 1px solid var(--line); padding-bottom: 0.25em; }
h4, figcaption { font-weight: 500; font-size: 0.9375rem; margin: 0.75em 0 0.25em; }
p { max-width: 46rem; }
pre { background: var(--panel); padding: 0.75rem; overflow-x: auto; border-radius: 6px; font-size: 0.8125rem; }
code { background: var(--panel); padding: 0.1em 0.3em; border-radius: 4px; font-size: 0.875em;
  overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.8125rem; }
th, td { padding: 0.25rem 0.6rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap;
  font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 500; }
thead th, .note { color: var(--soft); }
td:has(> .prose) { white-space: normal; text-align: left; min-width: 14rem; }
th:has(> .prose) { white-space: normal; min-width: 9rem; }
table:not(:has(td > .prose)) thead th + th { text-align: right; }
a { color: var(--c0); }
.met { color: var(--met); } .missed { color: var(--missed); font-weight: 600; }
summary { cursor: pointer; color: var(--soft); }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 0.5rem 1.5rem; }
figure { margin: 0.5rem 0; min-width: 0; }
figcaption .note { font-weight: 400; }
.legend { margin: 0; font-size: 0.8125rem; color: var(--soft); }
.key { display: inline-block; width: 0.7em; height: 0.7em; margin: 0 0.35em 0 0; border-radius: 2px; }
.legend span.entry { margin-right: 0.9em; white-space: nowrap; }
svg { display: block; width: 100%; height: auto; font: 11px system-ui, sans-serif; }
svg text { fill: var(--soft); } svg .label { text-anchor: end; }
svg .axis { stroke: var(--line); } svg .limit { stroke: var(--missed); stroke-dasharray: 4 3; }
svg .mark { stroke: var(--soft); stroke-opacity: 0.35; stroke-dasharray: 2 3; }
svg .hit { fill: transparent; } svg .hit:hover { fill: var(--soft); fill-opacity: 0.15; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: 0.5rem; margin: 1rem 0;
  padding: 0; }
.cards div { background: var(--panel); border-radius: 6px; padding: 0.5rem 0.75rem; }
.cards dt { color: var(--soft); font-size: 0.8125rem; }
.cards dd { margin: 0; font-size: 1.25rem; font-variant-numeric: tabular-nums; }
`;
const PARTS = Array.from(
  { length: 8 },
  (_, index) =>
    `.bar.part-${index}, .key.part-${index} { background: var(--c${index}); } ` +
    `.line.part-${index} { fill: none; stroke: var(--c${index}); stroke-width: 1.75; stroke-linejoin: round; }`,
).join('\n');

export const PAGE_STYLE: string = `${STYLE}${PARTS}`;
