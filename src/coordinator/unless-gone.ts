/** For those who go over all streams: each may be deleted before its turn comes, and is nothing to stop at then. */
import { isMillraceError } from '../errors/millrace-error.ts';

export async function unlessGone<T>(work: Promise<T>, otherwise: T): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (isMillraceError(error, 'ERR_MILLRACE_STREAM_NOT_FOUND')) return otherwise;
    throw error;
  }
}
