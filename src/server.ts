/**
 * `millrace/server`: a store over HTTP, with a dashboard. What `millrace serve` runs, for programs that have the store
 * open themselves.
 */
export { serve, type StoreServer } from './server/server.ts';
export type { ServeOptions } from './server/options.ts';
