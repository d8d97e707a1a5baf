/** Counts of requests to an object store: they are what it costs, and where throttling shows first. */

/** Plain data: safe to send to another thread or to print. */
export interface RequestTally {
  /** Requests sent, repeated ones included, by the store's own name for them, such as `PutObject` or `read`. */
  readonly requests: Readonly<Record<string, number>>;
  /** Bytes that they carried, there or back. */
  readonly bytes: Readonly<Record<string, number>>;
  /** Requests that failed, by name and error code: `GetObject ERR_MILLRACE_UNAVAILABLE`. */
  readonly errors: Readonly<Record<string, number>>;
}

const PARTS = ['requests', 'bytes', 'errors'] as const;

/** Counts as it happens, or adds up what others have counted. */
export class RequestCounts implements RequestTally {
  readonly requests: Record<string, number> = {};
  readonly bytes: Record<string, number> = {};
  readonly errors: Record<string, number> = {};

  sent(name: string): void {
    count(this.requests, name, 1);
  }

  moved(name: string, bytes: number): void {
    count(this.bytes, name, bytes);
  }

  failed(name: string, code: string): void {
    count(this.errors, `${name} ${code}`, 1);
  }

  add(tally: RequestTally): void {
    for (const part of PARTS) for (const [name, value] of Object.entries(tally[part])) count(this[part], name, value);
  }

  /** A copy. */
  tally(): RequestTally {
    return { requests: { ...this.requests }, bytes: { ...this.bytes }, errors: { ...this.errors } };
  }
}

/** What was counted between two tallies of the same store. */
export function tallyBetween(before: RequestTally, after: RequestTally): RequestTally {
  const difference = new RequestCounts();
  for (const part of PARTS) {
    for (const [name, value] of Object.entries(after[part])) {
      const added = value - (before[part][name] ?? 0);
      if (added !== 0) difference[part][name] = added;
    }
  }
  return difference;
}

export const NO_REQUESTS: RequestTally = { requests: {}, bytes: {}, errors: {} };

/** Requests that keep house; all others of the thread that appends are a reader's. */
const HOUSEKEEPING: ReadonlySet<string> = new Set([
  'delete',
  'list',
  'sweep',
  'DeleteObject',
  'DeleteObjects',
  'ListObjectsV2',
  'ListMultipartUploads',
  'AbortMultipartUpload',
]);

/** Parts the requests of one store by what they were for. */
export function partTally(tally: RequestTally): { readonly read: RequestTally; readonly housekeeping: RequestTally } {
  const read = new RequestCounts();
  const housekeeping = new RequestCounts();
  for (const part of PARTS) {
    for (const [name, value] of Object.entries(tally[part])) {
      const [operation = ''] = name.split(' ');
      count((HOUSEKEEPING.has(operation) ? housekeeping : read)[part], name, value);
    }
  }
  return { read, housekeeping };
}

function count(sums: Record<string, number>, name: string, value: number): void {
  sums[name] = (sums[name] ?? 0) + value;
}
