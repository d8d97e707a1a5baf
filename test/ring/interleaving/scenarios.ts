import type { Scenario } from './model.ts';

/** What producer and WAL worker do, by what it is about. */
export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'one block and the end': { actions: ['block'] },
  'a disk that fails at once': { actions: ['block', 'settle'], failAt: 0 },
  'a filling that ends': { actions: ['block', 'seal'] },
  'two blocks, and a wait for both': { actions: ['block', 'block', 'settle'] },
  'a filling that ends between two blocks': { actions: ['block', 'seal', 'block'] },
  'a slot that is used again': { actions: ['block', 'seal', 'block', 'seal', 'release', 'block'] },
  'a worker that rests while its slot is filled again': {
    actions: ['block', 'seal', 'release', 'block', 'seal', 'block', 'block', 'seal'],
  },
  'a disk that fails behind a block that is durable': { actions: ['block', 'settle', 'block', 'settle'], failAt: 1 },
};
