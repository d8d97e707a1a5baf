/** What the command and its threads say to each other. Types only: importing this runs nothing. */
import type { ProducerHandle } from '../../store/producers/handle.ts';
import type { Segment } from './profile.ts';
import type { LoadSettings } from './settings.ts';

/** What a thread is started with. */
export interface LoadThreadData {
  readonly handle: ProducerHandle;
  /** Streams that it takes. */
  readonly streams: readonly string[];
  /** Producers in it. */
  readonly producers: number;
  readonly settings: LoadSettings;
}

/** To a thread. */
export type LoadOrder =
  /** Send this schedule, which begins at `start` of `preciseNow`. */
  { readonly type: 'run'; readonly segments: readonly Segment[]; readonly start: number } | { readonly type: 'stop' };

/** From a thread. */
export type LoadReply =
  | { readonly type: 'ready' }
  /** What has happened since the last one. */
  | {
      readonly type: 'counts';
      readonly sent: number;
      readonly acknowledged: number;
      readonly failed: readonly (readonly [string, number])[];
      /** Packed histograms. */
      readonly latency: string;
      readonly lateness: string;
      readonly inFlight: number;
      readonly unsent: number;
    }
  /** The schedule is over; its last counts came before. */
  | { readonly type: 'done' };
