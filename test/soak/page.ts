/** What a soak has seen, as text, and as one HTML file with its plots. */
import { machineText } from '../../src/cli/machine.ts';
import { table } from '../../src/cli/text.ts';
import { short, significant } from '../../src/report/format.ts';
import { escape, htmlTable } from '../../src/report/html.ts';
import { linePlot, type Line, type LinePlot } from '../../src/report/line-plot.ts';
import { htmlPage } from '../../src/report/page.ts';
import type { Ending, SoakResult, SoakSample } from './result.ts';
import type { Finding } from './verdict.ts';

const MIB = 1024 * 1024;
const HEADING = ['', 'before', 'later', 'at most', ''] as const;
const ENDINGS: Readonly<Record<Ending, string>> = { kill: 'killed', close: 'closed', full: 'disk full' };

export function isPassed({ failure }: SoakResult, findings: readonly Finding[]): boolean {
  return failure === undefined && findings.every(({ met }) => met !== false);
}

function row({ name, met, before, after, limit }: Finding): string[] {
  const verdict = met === undefined ? 'too short to say' : met ? 'met' : 'missed';
  return [name, ...[before, after, limit].map(significant), verdict];
}

function summary(result: SoakResult): string {
  const { lives, records, seconds, failure } = result;
  const endings = Object.entries(ENDINGS).map(([ending, name]) => {
    return `${lives.filter((life) => life.ending === ending).length} ${name}`;
  });
  const outcome = failure === undefined ? 'nothing was lost, torn or doubled' : 'it went wrong';
  return (
    `${lives.length} processes in ${short(seconds / 60)} minutes (${endings.join(', ')}), ` +
    `${records.toLocaleString('en-US')} acknowledged records: ${outcome}`
  );
}

export function soakText(result: SoakResult, findings: readonly Finding[]): string {
  const { failure } = result;
  return `${summary(result)}\n${failure === undefined ? '' : `${failure}\n`}\n${table(HEADING, findings.map(row))}`;
}

export function soakPage(result: SoakResult, findings: readonly Finding[]): string {
  const { seed, how, reason, failure, machine, startedAt } = result;
  const passed = isPassed(result, findings);
  return htmlPage('A soak', [
    `<p class="${passed ? 'met' : 'missed'}">${escape(summary(result))}.</p>`,
    ...(failure === undefined ? [] : [`<pre class="missed">${escape(failure)}</pre>`]),
    `<p>${escape(how === undefined ? `No disk became full: ${reason}` : `The disk that becomes full: ${how}`)}.</p>`,
    '<p>Upright lines are ends of processes: <b>k</b>illed, <b>c</b>losed, or closed once the disk was <b>f</b>ull.',
    'In between the store is checked, and nothing is drawn.</p>',
    '<div class="plots">',
    ...plots(result),
    '</div>',
    '<h2>Is it flat?</h2>',
    '<p>Medians of an early part against those of a late one; of the heap, of slots and of latency, the least.</p>',
    htmlTable(HEADING, findings.map(coloured)),
    '<h2>Machine</h2>',
    `<pre>${escape(machineText(machine).trimEnd())}\nstarted      ${escape(startedAt)}\nseed         ${seed}</pre>`,
  ]);
}

function coloured(finding: Finding): (string | { html: string })[] {
  const cells: (string | { html: string })[] = row(finding);
  const verdict = cells.pop() as string;
  if (finding.met === undefined) return [...cells, verdict];
  return [...cells, { html: `<span class="${finding.met ? 'met' : 'missed'}">${verdict}</span>` }];
}

function plots(result: SoakResult): string[] {
  const { samples } = result;
  const line = (name: string, of: (sample: SoakSample) => number | undefined): Line => ({
    name,
    values: samples.flatMap((sample, index) => {
      // The line breaks between two processes.
      const next = samples[index + 1];
      return next !== undefined && next.life !== sample.life ? [of(sample), undefined] : [of(sample)];
    }),
  });
  const draw = (plot: Omit<LinePlot, 'x' | 'xText' | 'marks'>): string => linePlot({ ...plot, ...frameOf(result) });
  return [
    draw({
      title: 'Memory',
      note: 'MiB',
      lines: [
        line('resident', ({ residentBytes }) => residentBytes / MIB),
        line('JavaScript heap', ({ heapBytes }) => heapBytes / MIB),
      ],
    }),
    draw({ title: 'Descriptors', lines: [line('open', ({ descriptors }) => descriptors)] }),
    draw({
      title: 'Acknowledgement',
      note: 'ms, logarithmic',
      scale: 'log',
      lines: [line('p50', ({ p50 }) => p50), line('p99', ({ p99 }) => p99)],
    }),
    draw({ title: 'Records a second', lines: [line('appended', ({ appended }) => appended)] }),
    draw({
      title: 'Disk',
      note: 'MiB',
      lines: [
        line('objects', ({ objectBytes }) => objectBytes / MIB),
        line('of these, needed by nobody', ({ deadBytes }) => deadBytes / MIB),
        line('manifest', ({ manifestBytes }) => manifestBytes / MIB),
        line('WAL', ({ walBytes }) => walBytes / MIB),
      ],
    }),
    draw({ title: 'Files', lines: [line('files', ({ files }) => files)] }),
    draw({
      title: 'Compaction backlog',
      note: 'objects',
      lines: [
        line('live', ({ objects }) => objects),
        line('waiting for deletion', ({ deletingObjects }) => deletingObjects),
      ],
    }),
    draw({
      title: 'Rings',
      note: 'slots whose records are in no segment yet',
      lines: [line('in use', ({ slotsInUse }) => slotsInUse), line('all', ({ slots }) => slots)],
    }),
  ];
}

function frameOf({ samples, lives }: SoakResult): Pick<LinePlot, 'x' | 'xText' | 'marks'> {
  const x = samples.flatMap(({ seconds, life }, index) => {
    const next = samples[index + 1];
    return next !== undefined && next.life !== life ? [seconds, (seconds + next.seconds) / 2] : [seconds];
  });
  const marks = lives.map(({ ending, endedAt }) => ({ name: ending, at: endedAt }));
  return { x, xText: (value) => (value < 600 ? `${short(value)} s` : `${short(value / 60)} min`), marks };
}
