/**
 * The two ends of a promise without a closure of its own: an executor runs inside `new`, so one can hand out the
 * functions of all. Whoever calls `new Promise<number>(capture)` takes them at once.
 */

/** Of the promise that was made last with `capture`. */
export let capturedResolve: (value: number) => void;
export let capturedReject: (error: unknown) => void;

export function capture(resolve: (value: number) => void, reject: (error: unknown) => void): void {
  capturedResolve = resolve;
  capturedReject = reject;
}
