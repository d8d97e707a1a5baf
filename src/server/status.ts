/** How the server and its store are: for load balancers, Prometheus and people. */
import { exposition } from '../metrics/exposition.ts';
import type { Exchange } from './exchange.ts';

const METRICS_MEDIA_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** The process answers. */
export function getHealth(exchange: Exchange): void {
  exchange.json({ status: 'ok' });
}

/** Whether requests should come here: not while the server stops, and not once the store refuses appends. */
export function getReadiness(exchange: Exchange): void {
  const { store, stopping } = exchange.context;
  const failure = stopping.aborted ? undefined : store.stats().wal?.failure;
  if (!stopping.aborted && failure === undefined) exchange.json({ status: 'ready' });
  else exchange.json(failure === undefined ? { status: 'stopping' } : { status: 'failed', code: failure }, 503);
}

export function getStats(exchange: Exchange): void {
  exchange.json(exchange.context.store.stats());
}

export function getMetrics(exchange: Exchange): void {
  const { store, metrics } = exchange.context;
  exchange.send(200, METRICS_MEDIA_TYPE, store.metrics() + exposition(metrics.metrics()));
}
