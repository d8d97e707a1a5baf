/** Whose an object in S3 is, by what lies beside it and comes with each answer. */
import { objectElsewhere } from '../object-errors.ts';

/** The key it was written under, which no other object of any store has. */
export const KEY_FIELD = 'millrace-key';

/** Keys whose last answer said so. */
const NAMED_MAX = 4_096;

/** Objects of which the server told, with their bytes, under which key they were written. */
export class NamedObjects {
  readonly #keys = new Set<string>();

  /** Judges an answer; throws `ERR_MILLRACE_SEGMENT_CORRUPT` for an object that was written under another key. */
  check(key: string, metadata: Readonly<Record<string, string>> | undefined): void {
    const written = metadata?.[KEY_FIELD];
    // Nothing is known of what another tool has stored, or a copy that lost what lies beside the object.
    if (written !== key) this.#keys.delete(key);
    if (written !== undefined && written !== key) throw objectElsewhere(key, written);
    if (written === undefined || this.#keys.has(key)) return;
    if (this.#keys.size === NAMED_MAX) this.#keys.clear();
    this.#keys.add(key);
  }

  has(key: string): boolean {
    return this.#keys.has(key);
  }
}
