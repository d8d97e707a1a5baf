/** Which objects `store.objects` lists, checked before any backend sees it. */
import type { ObjectFilter, ObjectState } from '../coordinator/coordinator.ts';
import { flag, invalid, optional, shown } from '../errors/argument-checks.ts';
import { checkOptionNames } from '../errors/option-names.ts';

export const OBJECT_STATES: readonly ObjectState[] = ['committed', 'reserved', 'deleting', 'gone'];

const NUMBERS = ['maxGeneration', 'maxBytes', 'committedBefore', 'limit'] as const;
const NAMES: ReadonlySet<string> = new Set(['state', 'unclaimed', 'after', ...NUMBERS]);

/** Throws `ERR_MILLRACE_INVALID_ARGUMENT` naming the option. */
export function checkObjectFilter(filter: ObjectFilter): void {
  checkOptionNames(filter, NAMES, 'store.objects');
  const { state, after } = filter;
  if (state !== undefined && !OBJECT_STATES.includes(state)) {
    throw invalid(`option state is one of ${OBJECT_STATES.join(', ')}, not ${shown(state)}`);
  }
  if (after !== undefined && typeof after !== 'string') throw invalid('option after is the key of an object');
  flag('unclaimed', filter.unclaimed);
  for (const name of NUMBERS) optional(name, filter[name], 0, Number.MAX_SAFE_INTEGER);
}
