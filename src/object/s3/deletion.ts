/**
 * Deletes many objects. Deletes come in bursts, when a merge has replaced its inputs, and a burst that is throttled
 * takes the readers of the same bucket with it: so the pace gives way quickly and comes back slowly.
 */
import { DeleteObjectsCommand } from '@aws-sdk/client-s3';
import { isObjectKey } from '../object-key.ts';
import { backoffDelay, isRetryable } from '../retry.ts';
import type { S3Requests } from './requests.ts';

/** S3 takes no more keys in one request. */
const BATCH_KEYS_MAX = 1000;
const BATCH_KEYS_MIN = 10;
const BATCH_KEYS_STEP = 100;

/** How many keys the next request names: halved when throttled, a step more after each success. */
export class DeletePace {
  #batchKeys = BATCH_KEYS_MAX;

  get batchKeys(): number {
    return this.#batchKeys;
  }

  slower(): void {
    this.#batchKeys = Math.max(BATCH_KEYS_MIN, Math.floor(this.#batchKeys / 2));
  }

  faster(): void {
    this.#batchKeys = Math.min(BATCH_KEYS_MAX, this.#batchKeys + BATCH_KEYS_STEP);
  }
}

/** What became of one request's keys. */
interface BatchResult {
  readonly gone: string[];
  /** Worth another attempt. */
  readonly later: string[];
}

/** The codes of single keys that stand for overload; every other one is final for now. */
const PASSING: ReadonlySet<string> = new Set(['SlowDown', 'InternalError', 'ServiceUnavailable', 'OperationAborted']);

/** Returns the keys that are certainly gone. Rejects only when the service refuses and nothing was deleted. */
export async function deleteObjects(
  requests: S3Requests,
  keys: readonly string[],
  pace: DeletePace,
): Promise<string[]> {
  const gone: string[] = [];
  let waiting = [...new Set(keys)].filter(isObjectKey);
  let failures = 0;
  while (waiting.length > 0 && failures < requests.policy.attempts) {
    if (failures > 0) {
      await requests.environment.sleep(backoffDelay(requests.policy, failures, requests.environment.random));
    }
    const batch = waiting.slice(0, pace.batchKeys);
    let result: BatchResult;
    try {
      result = await deleteBatch(requests, batch);
    } catch (error) {
      if (!isRetryable(error)) {
        if (gone.length > 0) break;
        throw error;
      }
      result = { gone: [], later: batch };
    }
    gone.push(...result.gone);
    waiting = [...waiting.slice(batch.length), ...result.later];
    if (result.later.length === 0) {
      failures = 0;
      pace.faster();
    } else {
      failures += 1;
      pace.slower();
    }
  }
  return gone;
}

async function deleteBatch(requests: S3Requests, batch: readonly string[]): Promise<BatchResult> {
  const response = await requests.once({
    operation: 'DeleteObjects',
    send: (client, abortSignal) => {
      const Objects = batch.map((key) => ({ Key: requests.remoteKey(key) }));
      const command = new DeleteObjectsCommand({ Bucket: requests.bucket, Delete: { Objects, Quiet: false } });
      return client.send(command, { abortSignal });
    },
  });
  const asked = new Set(batch);
  const gone: string[] = [];
  const later: string[] = [];
  for (const { Key } of response.Deleted ?? []) {
    const key = Key === undefined ? undefined : requests.localKey(Key);
    if (key !== undefined && asked.delete(key)) gone.push(key);
  }
  for (const { Key, Code = '' } of response.Errors ?? []) {
    const key = Key === undefined ? undefined : requests.localKey(Key);
    if (key === undefined || !asked.delete(key)) continue;
    if (Code === 'NoSuchKey') gone.push(key);
    else if (PASSING.has(Code)) later.push(key);
  }
  // Keys the answer does not mention stay unconfirmed: the caller asks again.
  return { gone, later };
}
