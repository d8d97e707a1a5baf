/**
 * Lists a bucket in pages. Each page continues behind the last key seen, so a page can be asked for again at any
 * time.
 */
import { ListMultipartUploadsCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import type { ListObjectsV2CommandOutput, MultipartUpload } from '@aws-sdk/client-s3';
import { MillraceError } from '../../errors/millrace-error.ts';
import { isObjectKey } from '../object-key.ts';
import type { ObjectEntry } from '../object-store.ts';
import type { S3Requests } from './requests.ts';

export async function* listObjects(requests: S3Requests, prefix: string): AsyncGenerator<ObjectEntry> {
  let last: string | undefined;
  for (;;) {
    const page = await listPage(requests, prefix, last);
    const before = last;
    for (const { Key, Size, LastModified } of page.Contents ?? []) {
      // A server may repeat a key at the border of two pages.
      if (Key === undefined || (last !== undefined && Key <= last)) continue;
      last = Key;
      const key = requests.localKey(Key);
      if (key === undefined || !isObjectKey(key)) continue;
      yield { key, bytes: Size ?? 0, modifiedAt: LastModified?.getTime() ?? 0 };
    }
    if (page.IsTruncated !== true) return;
    if (last === before) throw stuck(requests.place);
  }
}

function listPage(
  requests: S3Requests,
  prefix: string,
  after: string | undefined,
): Promise<ListObjectsV2CommandOutput> {
  return requests.send({
    operation: 'ListObjectsV2',
    send: (client, abortSignal) => {
      const command = new ListObjectsV2Command({
        Bucket: requests.bucket,
        Prefix: requests.remoteKey(prefix),
        ...(after === undefined ? {} : { StartAfter: after }),
      });
      return client.send(command, { abortSignal });
    },
  });
}

/** An upload of several parts that was begun and neither completed nor aborted: its parts cost storage, invisibly. */
export interface UnfinishedUpload {
  readonly key: string;
  readonly uploadId: string;
  /** Milliseconds since the epoch by the server's clock. */
  readonly startedAt: number;
}

export async function* listUnfinishedUploads(requests: S3Requests): AsyncGenerator<UnfinishedUpload> {
  let keyMarker: string | undefined;
  let uploadIdMarker: string | undefined;
  for (;;) {
    const page = await requests.send({
      operation: 'ListMultipartUploads',
      send: (client, abortSignal) => {
        const command = new ListMultipartUploadsCommand({
          Bucket: requests.bucket,
          Prefix: requests.remoteKey(''),
          ...(keyMarker === undefined ? {} : { KeyMarker: keyMarker }),
          ...(uploadIdMarker === undefined ? {} : { UploadIdMarker: uploadIdMarker }),
        });
        return client.send(command, { abortSignal });
      },
    });
    for (const upload of page.Uploads ?? []) {
      const known = unfinishedUpload(requests, upload);
      if (known !== undefined) yield known;
    }
    if (page.IsTruncated !== true) return;
    if (page.NextKeyMarker === keyMarker && page.NextUploadIdMarker === uploadIdMarker) throw stuck(requests.place);
    keyMarker = page.NextKeyMarker;
    uploadIdMarker = page.NextUploadIdMarker;
  }
}

function unfinishedUpload(requests: S3Requests, upload: MultipartUpload): UnfinishedUpload | undefined {
  const { Key, UploadId, Initiated } = upload;
  if (Key === undefined || UploadId === undefined || Initiated === undefined) return undefined;
  const key = requests.localKey(Key);
  if (key === undefined || !isObjectKey(key)) return undefined;
  return { key, uploadId: UploadId, startedAt: Initiated.getTime() };
}

function stuck(place: string): MillraceError {
  return new MillraceError('ERR_MILLRACE_READ_FAILED', `listing ${place} does not advance: its pages repeat`);
}
