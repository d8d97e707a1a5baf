/** What requests, storage and processors cost. Inputs of the cost model: the defaults are usual list prices. */

export interface Prices {
  /** Dollars for 1,000 PUT requests, parts of multipart uploads and their beginning and end included. */
  readonly put: number;
  /** Dollars for 1,000 GET or HEAD requests. */
  readonly get: number;
  /** Dollars for 1,000 requests that delete up to 1,000 objects each. Usually free. */
  readonly delete: number;
  /** Dollars for a GiB of objects stored for 30 days. */
  readonly storage: number;
  /** Dollars for a GiB of the coordinator's rows kept for 30 days. */
  readonly metadata: number;
  /** Dollars for an hour of one worker. */
  readonly workerHour: number;
}

export const PRICES_DEFAULT: Prices = {
  put: 0.005,
  get: 0.0004,
  delete: 0,
  storage: 0.023,
  metadata: 0.25,
  workerHour: 0.04,
};

/** Requests by the price they have. */
export interface RequestCounts {
  puts: number;
  gets: number;
  deletes: number;
}

export function noRequests(): RequestCounts {
  return { puts: 0, gets: 0, deletes: 0 };
}

export function addRequests(total: RequestCounts, { puts, gets, deletes }: Readonly<RequestCounts>): void {
  total.puts += puts;
  total.gets += gets;
  total.deletes += deletes;
}

/** Dollars. */
export function requestCost({ puts, gets, deletes }: Readonly<RequestCounts>, prices: Prices): number {
  return (puts * prices.put + gets * prices.get + deletes * prices.delete) / 1_000;
}
