/**
 * Compaction replaces objects, and what it replaced is gone after a grace. Whoever read a coordinate before and its
 * object after that looks the coordinate up again; an object that stays gone is lost.
 */
import type { Coordinator } from '../coordinator/coordinator.ts';
import { isMillraceError } from '../errors/millrace-error.ts';

/** Lookups of the same offset that may find its object gone before that is an error. */
const ATTEMPTS_MAX = 5;

export class LostObjects {
  readonly #coordinator: Coordinator;
  #inRow = 0;

  constructor(coordinator: Coordinator) {
    this.#coordinator = coordinator;
  }

  /** Something could be read. */
  found(): void {
    this.#inRow = 0;
  }

  /** Resolves when it is worth looking again; throws `error` when it is another one, or the object stays gone. */
  async lookAgain(error: unknown): Promise<void> {
    if (!isMillraceError(error, 'ERR_MILLRACE_OBJECT_NOT_FOUND') || this.#inRow === ATTEMPTS_MAX) throw error;
    this.#inRow += 1;
    await this.#coordinator.refresh();
  }
}
