/** What a user may say about an S3 bucket, checked before anything is sent. */
import { assert } from '../../base/assert.ts';
import { PAGE_BYTES } from '../../base/bytes.ts';
import { invalid } from '../../errors/argument-checks.ts';
import { checkOptionNames } from '../../errors/option-names.ts';
import { GIB, MIB, OBJECT_BYTES_MAX } from '../../limits/limits.ts';
import { KEY_CHARACTERS_MAX } from '../object-key.ts';
import type { WriterMemory } from '../object-store.ts';

/** Long-lived keys of an account, or temporary ones with a token. */
export interface S3Credentials {
  /** The name of the key. */
  readonly accessKeyId: string;
  /** Its secret. */
  readonly secretAccessKey: string;
  /** Of temporary credentials. Default none. */
  readonly sessionToken?: string;
}

/** Which bucket, and how it is reached. */
export interface S3Options {
  /** The bucket; it must exist. The credentials need read, write, delete and list permission. */
  readonly bucket: string;
  /** Put in front of every key; ends in `/` unless empty. Default empty. */
  readonly prefix?: string;
  /** URL of a server that speaks S3, such as MinIO, Ceph or R2. Default: AWS. */
  readonly endpoint?: string;
  /** Default: what the environment says; `us-east-1` when `endpoint` is given. */
  readonly region?: string;
  /** Default: the SDK's own search (environment, shared files, instance role). */
  readonly credentials?: S3Credentials;
  /** Bucket in the path rather than in the host name. Default: true when `endpoint` is given. */
  readonly forcePathStyle?: boolean;
  /** Bytes of a part of a multipart upload; an object of up to two parts is one request. Default 16 MiB. */
  readonly partBytes?: number;
  /** Parts of one object on their way at once. Default 2: with the one that fills, three parts of memory a writer. */
  readonly parallelParts?: number;
  /**
   * Let the server refuse a key that exists, in the same step as the write. Default true; `false` for servers that do
   * not know conditional writes: they are asked first instead.
   */
  readonly conditionalWrites?: boolean;
  /** Milliseconds until an unanswered request is given up and tried again. Default 30,000. */
  readonly requestTimeout?: number;
  /** Requests tried in all, the first included. Default 6. */
  readonly attempts?: number;
}

/** S3 takes no smaller part but the last. */
export const PART_BYTES_MIN: number = 5 * MIB;
const PART_BYTES_MAX: number = GIB;
export const PART_BYTES_DEFAULT: number = 16 * MIB;
/** Up to so many parts an object is one request: an upload in three parts takes seven. */
const SINGLE_PUT_PARTS = 2;
/** Or up to so many bytes: one that was sent for nothing is sent again, and all of it has the time of one request. */
const SINGLE_PUT_BYTES: number = 32 * MIB;
/** S3 takes no more parts. */
export const PARTS_MAX = 10_000;
const PARALLEL_PARTS_DEFAULT = 2;
export const REQUEST_TIMEOUT_DEFAULT = 30_000;
export const ATTEMPTS_DEFAULT = 6;
/** UTF-8 bytes of a key, by S3. */
const S3_KEY_BYTES_MAX = 1024;

assert(PART_BYTES_DEFAULT * PARTS_MAX >= OBJECT_BYTES_MAX, 'the largest object fits the default parts');

/** How an object is cut into parts. */
export interface PartPlan {
  readonly partBytes: number;
  /** On their way at once; 0: the next part waits in no memory of its own until the last one has arrived. */
  readonly parallelParts: number;
  /** Up to so many bytes an object is one request. */
  readonly singleBytes: number;
}

/** What a writer holds: the parts on their way and the one that fills, or one that grows to two. */
export function writerMemoryOf(options: Pick<S3Options, 'partBytes' | 'parallelParts'>): WriterMemory {
  const { partBytes = PART_BYTES_DEFAULT, parallelParts = PARALLEL_PARTS_DEFAULT } = options;
  return {
    least: PART_BYTES_MIN,
    ample: partBytes * Math.max(SINGLE_PUT_PARTS, parallelParts) + partBytes,
    single: Math.max(SINGLE_PUT_PARTS * partBytes, SINGLE_PUT_BYTES),
  };
}

/**
 * With little `memory`, larger parts come before more of them at once: each is a request. One that fills while one is
 * on its way keeps the job and the connection busy; below the size of two parts they go one by one.
 * An object of `bytes` that fits the memory is a single request, up to two parts or 32 MiB. Should it become larger, it
 * goes on in parts.
 */
export function planParts(
  options: Pick<S3Options, 'partBytes' | 'parallelParts'>,
  memory: number = Infinity,
  bytes: number = Infinity,
): PartPlan {
  const { ample, single } = writerMemoryOf(options);
  if (memory !== Infinity && bytes <= Math.min(memory, single)) {
    const partBytes = Math.max(PART_BYTES_MIN, bytes);
    return { partBytes, parallelParts: 0, singleBytes: partBytes };
  }
  const { parallelParts: most = PARALLEL_PARTS_DEFAULT } = options;
  const wanted = wholePages(options.partBytes ?? PART_BYTES_DEFAULT);
  if (memory >= ample) {
    return { partBytes: wanted, parallelParts: most, singleBytes: SINGLE_PUT_PARTS * wanted };
  }
  const half = Math.max(PART_BYTES_MIN, Math.min(wanted, wholePages(memory / 2)));
  const parallelParts = Math.max(0, Math.min(most, Math.floor(memory / half) - 1));
  const partBytes = parallelParts > 0 ? half : Math.max(PART_BYTES_MIN, Math.min(wanted, wholePages(memory)));
  // Growing to two parts takes the memory of three.
  return { partBytes, parallelParts, singleBytes: parallelParts < 2 ? partBytes : SINGLE_PUT_PARTS * partBytes };
}

/** Of the memory that parts are cut from. */
function wholePages(bytes: number): number {
  return bytes - (bytes % PAGE_BYTES);
}

interface Rule {
  readonly name: keyof S3Options;
  readonly wanted: string;
  readonly holds: (options: S3Options) => boolean;
}

const PREFIX_PATTERN = /^[\w.!*'()/-]*$/;

const RULES: readonly Rule[] = [
  { name: 'bucket', wanted: 'the name of a bucket', holds: ({ bucket }) => isText(bucket, /^[\w.-]{3,255}$/) },
  {
    name: 'prefix',
    wanted: `at most ${S3_KEY_BYTES_MAX - KEY_CHARACTERS_MAX} letters, digits or -_.!*'()/ that end in "/"`,
    holds: ({ prefix = '' }) =>
      isText(prefix, PREFIX_PATTERN) &&
      prefix.length <= S3_KEY_BYTES_MAX - KEY_CHARACTERS_MAX &&
      (prefix === '' || (prefix.endsWith('/') && !prefix.startsWith('/'))),
  },
  {
    name: 'endpoint',
    wanted: 'an http or https URL without user, password, query or fragment',
    holds: ({ endpoint }) => endpoint === undefined || isPlainUrl(endpoint),
  },
  { name: 'region', wanted: 'a name', holds: ({ region }) => region === undefined || isText(region, /^[\w-]{1,64}$/) },
  {
    name: 'credentials',
    wanted: 'accessKeyId and secretAccessKey, and sessionToken for temporary ones',
    holds: ({ credentials }) => credentials === undefined || areCredentials(credentials),
  },
  { name: 'forcePathStyle', wanted: 'a boolean', holds: (options) => isOptionalBoolean(options.forcePathStyle) },
  { name: 'conditionalWrites', wanted: 'a boolean', holds: (options) => isOptionalBoolean(options.conditionalWrites) },
  {
    name: 'partBytes',
    wanted: `an integer from ${PART_BYTES_MIN} to ${PART_BYTES_MAX}`,
    holds: ({ partBytes }) => isOptionalInteger(partBytes, PART_BYTES_MIN, PART_BYTES_MAX),
  },
  {
    name: 'parallelParts',
    wanted: 'an integer from 1 to 64',
    holds: ({ parallelParts }) => isOptionalInteger(parallelParts, 1, 64),
  },
  {
    name: 'requestTimeout',
    wanted: 'milliseconds from 100 to 3,600,000',
    holds: ({ requestTimeout }) => isOptionalInteger(requestTimeout, 100, 3_600_000),
  },
  {
    name: 'attempts',
    wanted: 'an integer from 1 to 100',
    holds: ({ attempts }) => isOptionalInteger(attempts, 1, 100),
  },
];

const NAMES: ReadonlySet<string> = new Set(RULES.map((rule) => rule.name));

/**
 * Checks options from a user or from another thread. The message names the option, never its value: it may be secret.
 */
export function checkS3Options(options: unknown): S3Options {
  checkOptionNames(options, NAMES, 's3');
  const candidate = options as S3Options;
  for (const rule of RULES) {
    if (!rule.holds(candidate)) throw invalid(`the s3 option ${rule.name} must be ${rule.wanted}`);
  }
  return candidate;
}

/** Options may come from JavaScript: a pattern alone would take `undefined` for a word. */
function isText(value: unknown, pattern: RegExp): boolean {
  return typeof value === 'string' && pattern.test(value);
}

function isPlainUrl(text: string): boolean {
  if (!isText(text, /^\S+$/)) return false;
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return false;
  }
  const isWeb = url.protocol === 'http:' || url.protocol === 'https:';
  return isWeb && url.username === '' && url.password === '' && url.search === '' && url.hash === '';
}

function areCredentials(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { accessKeyId, secretAccessKey, sessionToken } = value as Record<string, unknown>;
  const isGiven = (part: unknown): boolean => isText(part, /^\S+$/);
  return isGiven(accessKeyId) && isGiven(secretAccessKey) && (sessionToken === undefined || isGiven(sessionToken));
}

function isOptionalBoolean(value: unknown): boolean {
  return value === undefined || typeof value === 'boolean';
}

function isOptionalInteger(value: unknown, min: number, max: number): boolean {
  return value === undefined || (Number.isInteger(value) && Number(value) >= min && Number(value) <= max);
}
