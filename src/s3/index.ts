/**
 * `millrace/s3`: objects in a bucket. Needs the optional peer dependency `@aws-sdk/client-s3`, which nothing else of
 * millrace loads.
 */
import type { ObjectStoreComponent } from '../object/object-store.ts';
import type { S3Options } from '../object/s3/options.ts';
import { describeS3Store } from '../object/s3/s3-object-store.ts';

export type { S3Credentials, S3Options } from '../object/s3/options.ts';
export type { ObjectStoreComponent } from '../object/object-store.ts';

/**
 * Describes a bucket of S3, or of any server that speaks it, for `open({ objects: s3({ bucket: 'my-bucket' }) })`.
 * Throws `ERR_MILLRACE_INVALID_ARGUMENT` for options that make no bucket. Nothing is sent before the store is opened.
 */
export function s3(options: S3Options): ObjectStoreComponent {
  return describeS3Store(options);
}
