/** Closing several things, where one that fails to close must not keep the others open. */

export type Closer = () => Promise<unknown>;

/** Runs every closer in turn, whatever becomes of the others; then throws the first error. */
export async function closeAll(closers: readonly Closer[]): Promise<void> {
  const errors: unknown[] = [];
  for (const close of closers) {
    try {
      await close();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}

/** Runs `work`, which notes how to close what it opens; when it fails, all of that is closed, the latest first. */
export async function closingOnFailure<T>(work: (opened: Closer[]) => Promise<T>): Promise<T> {
  const opened: Closer[] = [];
  try {
    return await work(opened);
  } catch (error) {
    // The failure that led here says more than one of the closers could.
    await closeAll(opened.reverse()).catch(() => undefined);
    throw error;
  }
}
