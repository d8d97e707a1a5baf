/** What the server counts of itself. */
import type { Metric } from '../metrics/exposition.ts';

const SECOND = 1_000;

interface Counted {
  readonly operation: string;
  readonly status: number;
  requests: number;
  /** Milliseconds. */
  duration: number;
}

export class RequestMetrics {
  /** Requests that follow a stream. */
  followers = 0;
  /** Requests that are being answered. */
  active = 0;
  readonly #counted = new Map<string, Counted>();

  /** `duration` in milliseconds. */
  count(operation: string, status: number, duration: number): void {
    const key = `${operation} ${status}`;
    const counted = this.#counted.get(key) ?? { operation, status, requests: 0, duration: 0 };
    counted.requests += 1;
    counted.duration += duration;
    this.#counted.set(key, counted);
  }

  metrics(): Metric[] {
    const rows = [...this.#counted.values()];
    const labels = ({ operation, status }: Counted): Record<string, string> => ({ operation, status: String(status) });
    return [
      {
        name: 'millrace_http_requests_total',
        type: 'counter',
        help: 'Requests answered, by operation and status.',
        samples: rows.map((row) => ({ labels: labels(row), value: row.requests })),
      },
      {
        name: 'millrace_http_request_seconds_total',
        type: 'counter',
        help: 'Time that answering them took.',
        samples: rows.map((row) => ({ labels: labels(row), value: row.duration / SECOND })),
      },
      { name: 'millrace_http_active', type: 'gauge', help: 'Requests under way.', samples: [{ value: this.active }] },
      {
        name: 'millrace_http_followers',
        type: 'gauge',
        help: 'Requests that follow a stream.',
        samples: [{ value: this.followers }],
      },
    ];
  }
}
