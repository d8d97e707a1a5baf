/** What millrace stores beside each object in S3, and how it asks for it. */
import { HeadBucketCommand, HeadObjectCommand } from '@aws-sdk/client-s3';
import { isMillraceError, MillraceError } from '../../errors/millrace-error.ts';
import type { S3Requests } from './requests.ts';

/** A random word of the writer: tells our own object from another one under the same key. */
export const WRITER_FIELD = 'millrace-writer';
/** MD5 of the whole object in hexadecimal; objects of several parts have none. */
export const DIGEST_FIELD = 'millrace-md5';

export interface ObjectHead {
  readonly bytes: number;
  readonly writer: string | undefined;
}

/** Asks for an object's size and writer; `undefined` when there is no such object. */
export async function headObject(requests: S3Requests, key: string): Promise<ObjectHead | undefined> {
  const command = { Bucket: requests.bucket, Key: requests.remoteKey(key) };
  try {
    return await requests.send({
      operation: 'HeadObject',
      key,
      send: async (client, abortSignal) => {
        const { ContentLength, Metadata } = await client.send(new HeadObjectCommand(command), { abortSignal });
        if (ContentLength === undefined) throw lengthMissing(key, requests.place);
        return { bytes: ContentLength, writer: Metadata?.[WRITER_FIELD] };
      },
    });
  } catch (error) {
    if (!isMillraceError(error, 'ERR_MILLRACE_OBJECT_NOT_FOUND')) throw error;
    // The answer to HEAD has no body to say which of the two is missing. A missing bucket must not look empty.
    await checkBucket(requests);
    return undefined;
  }
}

/** Rejects with `ERR_MILLRACE_REFUSED` unless the bucket exists and may be used. */
async function checkBucket(requests: S3Requests): Promise<void> {
  try {
    await requests.send({
      operation: 'HeadBucket',
      send: (client, abortSignal) => client.send(new HeadBucketCommand({ Bucket: requests.bucket }), { abortSignal }),
    });
  } catch (error) {
    if (!isMillraceError(error, 'ERR_MILLRACE_OBJECT_NOT_FOUND')) throw error;
    throw new MillraceError(
      'ERR_MILLRACE_REFUSED',
      `there is no ${requests.place}; create the bucket, or correct its name`,
      { cause: error },
    );
  }
}

function lengthMissing(key: string, place: string): MillraceError {
  return new MillraceError('ERR_MILLRACE_READ_FAILED', `${place} did not say how long object ${key} is`);
}
