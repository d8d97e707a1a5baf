/** What the colours of a chart stand for. */
import { escape } from './html.ts';

/** Nothing where there is one part only. */
export function legend(names: readonly string[]): string {
  if (names.length < 2) return '';
  const entries = names.map(
    (name, index) => `<span class="entry"><span class="key part-${index}"></span>${escape(name)}</span>`,
  );
  return `<p class="legend">${entries.join(' ')}</p>`;
}
