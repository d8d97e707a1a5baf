import type { Coordinator, CoordinatorTimes } from './coordinator.ts';

/** A coordinator that has been chosen and not opened: what `open({ coordinator })` takes. */
export interface CoordinatorComponent {
  /** Connects. `ERR_MILLRACE_UNAVAILABLE`, `ERR_MILLRACE_REFUSED`: the service cannot be used. */
  open(times?: Partial<CoordinatorTimes>): Promise<Coordinator>;
}
