/** Objects whose jobs have failed: they rest, longer each time, so that one damaged object does not stop all others. */
import type { Clock } from '../base/clock.ts';
import type { JobPlan } from '../coordinator/job.ts';
import { isMillraceError } from '../errors/millrace-error.ts';
import type { CompactionView } from './view.ts';

const REST_FIRST = 1_000;
const REST_MAX = 3_600_000;
/** Objects remembered: the oldest are forgotten, and tried again early. */
const REMEMBERED_MAX = 10_000;

interface Rest {
  readonly length: number;
  /** By the monotonic clock. */
  readonly until: number;
}

export class RestingInputs {
  readonly #clock: Clock;
  readonly #rests: Map<string, Rest> = new Map();
  readonly #conflicts: Set<string> = new Set();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The view with resting objects out of the planners' reach. */
  without(view: CompactionView): CompactionView {
    const now = this.#clock.monotonic();
    const isResting = (key: string): boolean => (this.#rests.get(key)?.until ?? 0) > now;
    return {
      now: view.now,
      objects: view.objects.map((object) => (isResting(object.key) ? { ...object, claimed: true } : object)),
    };
  }

  /** A commit with these inputs was refused: runs between theirs, in other objects, may have been overlooked. */
  hadConflict({ inputKeys }: JobPlan): boolean {
    return inputKeys.some((key) => this.#conflicts.has(key));
  }

  failed({ inputKeys }: JobPlan, error: unknown): void {
    if (isMillraceError(error, 'ERR_MILLRACE_CONFLICT')) {
      for (const key of inputKeys) remember(this.#conflicts, key);
    }
    const culprit = isMillraceError(error) ? (error.details['objectKey'] ?? error.details['key']) : undefined;
    const known = inputKeys.filter((key) => key === culprit);
    for (const key of known.length > 0 ? known : inputKeys) {
      const length = Math.min((this.#rests.get(key)?.length ?? REST_FIRST / 2) * 2, REST_MAX);
      this.#rests.delete(key);
      this.#rests.set(key, { length, until: this.#clock.monotonic() + length });
    }
    forgetOldest(this.#rests);
  }

  succeeded({ inputKeys }: JobPlan): void {
    for (const key of inputKeys) {
      this.#rests.delete(key);
      this.#conflicts.delete(key);
    }
  }
}

function remember(keys: Set<string>, key: string): void {
  keys.add(key);
  const [oldest] = keys;
  if (keys.size > REMEMBERED_MAX && oldest !== undefined) keys.delete(oldest);
}

function forgetOldest(rests: Map<string, Rest>): void {
  for (const key of rests.keys()) {
    if (rests.size <= REMEMBERED_MAX) return;
    rests.delete(key);
  }
}
