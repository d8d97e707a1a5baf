/** `GET /v1/overview`: what the dashboard shows of the store as a whole. */
import { PACKAGE_VERSION } from '../base/package-version.ts';
import type { Exchange } from './exchange.ts';

/** `since`: samples behind this sequence. */
export async function getOverview(exchange: Exchange): Promise<void> {
  const { store, sampler, layout, metrics } = exchange.context;
  const since = exchange.queryNumber('since', 0, 0, Number.MAX_SAFE_INTEGER);
  const { appends, recovery: _recovery, ...stats } = store.stats();
  exchange.json({
    version: PACKAGE_VERSION,
    isReadOnly: appends === undefined,
    uptime: sampler.uptime,
    // Buckets are for Prometheus.
    appends: appends && { records: appends.records, userBytes: appends.userBytes, acks: appends.latency.count },
    ...stats,
    generations: await layout.generations(),
    followers: metrics.followers,
    samples: sampler.since(since),
  });
}
