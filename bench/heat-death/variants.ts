/** The scenario with everything on, and with one measure after the other switched off. */
import { MIB } from '../../src/limits/limits.ts';
import { TRACKING_SETTINGS_DEFAULT } from '../../src/stream/tracking-policy.ts';
import type { ScenarioFacts } from './scenario.ts';
import type { StoreSettings } from './simulated-store.ts';

export interface Variant {
  readonly name: string;
  /** What is different, and what it shows. */
  readonly text: string;
  readonly settings: StoreSettings;
  /** Share of the whole time that is enough to see it. */
  readonly share: number;
  /** Seconds between simulated commits: no more than between deltas. */
  readonly commitEvery: number;
}

const ALL_ON: StoreSettings = {
  tracking: TRACKING_SETTINGS_DEFAULT,
  retentionBytes: 64 * MIB,
  flushInterval: 10_000,
  snapshots: true,
  compaction: true,
};

/** No budget holds anything back: a delta every 100 ms. */
const FIXED_INTERVAL = { budget: 1e9, maxInterval: 100 };

export const VARIANTS: readonly Variant[] = [
  { name: 'all on', text: 'the store as it is', settings: ALL_ON, share: 1, commitEvery: 5 },
  {
    name: 'no compaction',
    text: 'superseded tracking stays in its segments',
    settings: { ...ALL_ON, compaction: false },
    share: 0.12,
    commitEvery: 5,
  },
  {
    name: 'no snapshots',
    text: 'opening has to read all tracking there ever was, and segments stay for it',
    settings: { ...ALL_ON, snapshots: false, compaction: false },
    share: 0.12,
    commitEvery: 5,
  },
  {
    name: 'fixed interval',
    text: 'a delta every 100 ms, whatever its share of what is written',
    settings: { ...ALL_ON, tracking: FIXED_INTERVAL },
    share: 1 / 500,
    commitEvery: 0.125,
  },
];

export const SCENARIO: ScenarioFacts = { readers: 500, commitsPerSecond: 100, recordBytes: 1_024 };
