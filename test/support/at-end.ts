/** What a test cleans up when it ends, the last thing first: node:test itself would begin with the first one. */
import type { TestContext } from 'node:test';

type Work = () => unknown;

const works = new WeakMap<TestContext, Work[]>();

/** A folder that was asked to go before a process that writes to it was started goes after that process. */
export function atEnd(t: TestContext, work: Work): void {
  const known = works.get(t);
  if (known !== undefined) {
    known.push(work);
    return;
  }
  const list = [work];
  works.set(t, list);
  t.after(async () => {
    const errors: unknown[] = [];
    for (const last of list.reverse()) {
      try {
        await last();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  });
}
