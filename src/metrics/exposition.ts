/** Writes metrics in the Prometheus text format, version 0.0.4. */

export type MetricType = 'counter' | 'gauge' | 'histogram';

export interface Sample {
  /** Behind the metric's name: `_bucket`, `_sum` and `_count` of a histogram. */
  readonly suffix?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** One metric: its name by Prometheus convention (`millrace_..._total` for counters, base units), and its samples. */
export interface Metric {
  readonly name: string;
  readonly type: MetricType;
  readonly help: string;
  readonly samples: readonly Sample[];
}

/** Metrics without a sample are left out. */
export function exposition(metrics: Iterable<Metric>): string {
  let text = '';
  for (const { name, type, help, samples } of metrics) {
    if (samples.length === 0) continue;
    text += `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
    for (const { suffix = '', labels = {}, value } of samples) {
      text += `${name}${suffix}${labelText(labels)} ${numberText(value)}\n`;
    }
  }
  return text;
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${escaped(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function numberText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (value === Infinity) return '+Inf';
  return value === -Infinity ? '-Inf' : String(value);
}
