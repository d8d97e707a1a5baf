/** Builds the SDK's client so that it does one thing: send one request and report what came of it. */
import { createHash } from 'node:crypto';
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { RETRY_DEFAULT, systemRetryEnvironment, type RetryEnvironment } from '../retry.ts';
import { ATTEMPTS_DEFAULT, REQUEST_TIMEOUT_DEFAULT, type S3Options } from './options.ts';
import { S3Requests } from './requests.ts';

/** Each input of a compaction job is a connection for as long as it is read. */
const SOCKETS_MAX = 256;
const CONNECTION_TIMEOUT = 5_000;
const REGION_OF_OTHER_SERVERS = 'us-east-1';

/** The requests of one bucket, for checked options. */
export function openRequests(options: S3Options, environment: RetryEnvironment = systemRetryEnvironment): S3Requests {
  const { bucket, prefix = '', credentials, endpoint } = options;
  const { accessKeyId, secretAccessKey, sessionToken } = credentials ?? {};
  const secrets = [secretAccessKey, sessionToken, accessKeyId].filter((secret) => secret !== undefined);
  return new S3Requests({
    client: openClient(options),
    bucket,
    prefix,
    place: `bucket ${bucket} of ${endpoint ?? 'AWS'}`,
    secrets,
    policy: { ...RETRY_DEFAULT, attempts: options.attempts ?? ATTEMPTS_DEFAULT },
    environment,
    requestTimeout: options.requestTimeout ?? REQUEST_TIMEOUT_DEFAULT,
  });
}

function openClient(options: S3Options): S3Client {
  const { endpoint, credentials, requestTimeout = REQUEST_TIMEOUT_DEFAULT } = options;
  const region = options.region ?? (endpoint === undefined ? undefined : REGION_OF_OTHER_SERVERS);
  const config: S3ClientConfig = {
    forcePathStyle: options.forcePathStyle ?? endpoint !== undefined,
    maxAttempts: 1,
    // The newer checksum trailers are refused by Ceph and Swift, and other servers ignore them. `Content-MD5` is
    // checked by AWS and Ceph alike, so uploads carry that.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // One round trip less for each part; a refused part is at most `partBytes` sent in vain.
    expectContinueHeader: false,
    requestHandler: {
      connectionTimeout: CONNECTION_TIMEOUT,
      socketTimeout: requestTimeout,
      httpAgent: { maxSockets: SOCKETS_MAX },
      httpsAgent: { maxSockets: SOCKETS_MAX },
    },
    ...(region === undefined ? {} : { region }),
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(credentials === undefined ? {} : { credentials: { ...credentials } }),
  };
  const client = new S3Client(config);
  addDigestToDeletes(client);
  return client;
}

/** Older servers insist on `Content-MD5` for DeleteObjects, where the SDK sends a newer checksum only. */
function addDigestToDeletes(client: S3Client): void {
  client.middlewareStack.add(
    (next, context) => (args) => {
      const request = args.request as { readonly headers: Record<string, string>; readonly body?: unknown };
      const isDelete = context.commandName === 'DeleteObjectsCommand';
      if (isDelete && (typeof request.body === 'string' || request.body instanceof Uint8Array)) {
        request.headers['content-md5'] = md5Base64(request.body);
      }
      return next(args);
    },
    { step: 'build', name: 'millraceDigestOfDeletes' },
  );
}

/** The digest that S3 checks an upload against. It guards against accidents on the way, not against attackers. */
export function md5Base64(bytes: string | Uint8Array): string {
  return createHash('md5').update(bytes).digest('base64');
}
