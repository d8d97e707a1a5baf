import type { Coordinator, CoordinatorTimes } from './coordinator.ts';

/** A coordinator that has been chosen and not opened: what `open({ coordinator })` takes. */
export interface CoordinatorComponent {
  open(times?: Partial<CoordinatorTimes>): Promise<Coordinator>;
}
