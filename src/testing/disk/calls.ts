/** What is asked of a simulated disk, and how a call can be made to fail. */
import { constants } from 'node:os';

/** What a simulated disk can be asked. */
export type DiskOperation =
  | 'open'
  | 'create'
  | 'read'
  | 'write'
  | 'sync'
  | 'truncate'
  | 'size'
  | 'stat'
  | 'list'
  | 'makeDirectory'
  | 'rename'
  | 'remove'
  | 'removeDirectory'
  | 'syncDirectory'
  | 'close';

/** A call of the simulated disk, as `onStep` hears of it. */
export interface DiskCall {
  /** What was asked. */
  readonly operation: DiskOperation;
  /** Of a rename, the target. */
  readonly path: string;
  /** Of a read, write or truncation: the byte where it begins. */
  readonly position?: number;
  /** Of a read or write: bytes asked for. */
  readonly length?: number;
}

/** What becomes of a call instead of success. */
export type DiskFault =
  | {
      /**
       * Code of the error that it throws, such as `EIO`. It has no effect; a failed sync drops what it should have made
       * durable.
       */
      readonly error: string;
    }
  | {
      /** A read or write ends after so many bytes, without an error. */
      readonly bytes: number;
    }
  | {
      /** A sync that returns as if it had been done. */
      readonly lie: true;
    };

const NUMBERS: Readonly<Partial<Record<string, number>>> = constants.errno;

/** A system error as Node throws it; it has no name for EDQUOT and calls it unknown. */
export function systemError(code: string, call?: DiskCall): NodeJS.ErrnoException {
  const number = NUMBERS[code];
  const message = call === undefined ? `${code}: injected` : `${code}: ${call.operation} '${call.path}'`;
  return Object.assign(new Error(message), {
    code: code === 'EDQUOT' ? 'UNKNOWN' : code,
    ...(number === undefined ? {} : { errno: -number }),
    ...(call === undefined ? {} : { syscall: call.operation, path: call.path }),
  });
}
