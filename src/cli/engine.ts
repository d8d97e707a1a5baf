/**
 * The engine, loaded by the first command that opens a store: help, wrong usage and `dump` do not wait for its modules,
 * which are most of the time that a short command takes.
 */
import type { OpenOptions } from '../store/options.ts';
import type { Store } from '../store/store.ts';

export async function open(options: OpenOptions): Promise<Store> {
  const engine = await import('../store/open.ts');
  return engine.open(options);
}
