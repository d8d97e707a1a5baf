/** Every call that takes options refuses those it does not know: a misspelt one must not be lost in silence. */
import { invalid } from './argument-checks.ts';

/**
 * Throws `ERR_MILLRACE_INVALID_ARGUMENT` unless `options` is an object with these names and no others. `subject` is who
 * takes them; `prefix` says inside which option they are.
 */
export function checkOptionNames(
  options: unknown,
  names: ReadonlySet<string>,
  subject: string,
  prefix = '',
): asserts options is object {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    const what = prefix === '' ? subject : `${subject}: ${prefix.slice(0, -1)}`;
    throw invalid(`${what} takes an object of options, not ${nameOf(options)}`);
  }
  for (const name in options) {
    if (names.has(name)) continue;
    const known = [...names].map((option) => prefix + option).join(', ');
    throw invalid(`${subject} has no option ${prefix}${name}: it has ${known}`);
  }
}

/** Never the value, which may be secret. */
function nameOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : `a value of type ${typeof value}`;
}
