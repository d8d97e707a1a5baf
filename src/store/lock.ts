/**
 * One writer per store, enforced by the operating system, so that the lock dies with its process.
 *
 * `flock` on a descriptor that this process keeps: the lock belongs to the open file description, so the helper program
 * may end right after taking it. Where the program is missing, a listening socket holds the name instead: it too is
 * gone when its process is.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, mkdirSync, openSync, realpathSync, rmSync, statSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { join, parse } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isSystemError } from '../base/node-file-system.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import { notPlain } from '../object/object-errors.ts';

export const LOCK_FILE = 'LOCK';
/** Of the socket, in the store's directory, and of the directory that guards it. */
export const LOCK_SOCKET = 'LOCK.socket';
export const LOCK_GUARD = 'LOCK.socket.guard';
/** What every system takes as the path of a socket; the shortest bound is that of macOS, 103 and the final zero. */
const SOCKET_PATH_BYTES_MAX = 100;
const FLOCK_DESCRIPTOR = 3;
/** Milliseconds between attempts at the guard of a socket, and how many: it is held for a few milliseconds. */
const GUARD_PAUSE = 10;
const GUARD_ATTEMPTS = 200;

export interface StoreLock {
  release(): Promise<void>;
}

/** Takes the lock at once or throws `ERR_MILLRACE_LOCKED`. */
export async function lockStore(directory: string): Promise<StoreLock> {
  return lockByFlock(directory) ?? (await lockBySocket(directory));
}

function locked(directory: string): MillraceError {
  return new MillraceError(
    'ERR_MILLRACE_LOCKED',
    `${directory} is open for writing elsewhere: close it there, or open it with \`readOnly: true\``,
    { details: { directory } },
  );
}

/** `undefined` where there is no `flock` program. */
export function lockByFlock(directory: string): StoreLock | undefined {
  const path = join(directory, LOCK_FILE);
  for (;;) {
    const descriptor = openLockFile(path);
    const { status } = spawnSync('flock', ['-n', String(FLOCK_DESCRIPTOR)], {
      stdio: ['ignore', 'ignore', 'ignore', descriptor],
    });
    // Whoever gives up a failed birth removes the file: a lock on a file that is gone keeps nobody out.
    if (status === 0 && isFileAt(path, descriptor)) {
      return {
        release: async () => {
          closeSync(descriptor);
        },
      };
    }
    closeSync(descriptor);
    if (status === 1) throw locked(directory);
    if (status !== 0) return undefined;
  }
}

/** A link is not followed: whoever can plant one would have a file made, or kept locked, elsewhere. */
function openLockFile(path: string): number {
  try {
    return openSync(path, constants.O_RDWR | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0), 0o644);
  } catch (error) {
    if (isSystemError(error, 'ELOOP')) throw notPlain(path, 'file');
    throw error;
  }
}

function isFileAt(path: string, descriptor: number): boolean {
  return statSync(path, { throwIfNoEntry: false })?.ino === fstatSync(descriptor).ino;
}

/** Holds a socket whose place follows from the directory's real path alone: environments differ between processes. */
export async function lockBySocket(directory: string): Promise<StoreLock> {
  const root = realpathSync(directory);
  const server =
    process.platform === 'win32'
      ? await listen(`\\\\.\\pipe\\millrace-${digest(root)}`)
      : await listenAlone(socketPath(root));
  if (server === undefined) throw locked(directory);
  server.unref();
  return {
    release: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
      }),
  };
}

/**
 * In the store's directory. Where that path is too long, in the system's directory for temporary files: whoever empties
 * that while the store is open lets a second writer in.
 */
export function socketPath(root: string): string {
  const path = join(root, LOCK_SOCKET);
  if (Buffer.byteLength(path) <= SOCKET_PATH_BYTES_MAX) return path;
  return join(parse(root).root, 'tmp', `millrace-${digest(root)}.lock`);
}

function digest(root: string): string {
  return createHash('sha256').update(root).digest('hex').slice(0, 32);
}

/** `undefined` when the name is taken. */
function listen(path: string): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', (error) => {
      if (isSystemError(error, 'EADDRINUSE')) resolve(undefined);
      else reject(error);
    });
    server.listen(path, () => {
      resolve(server);
    });
  });
}

/**
 * A socket's file outlives a killed process, but nobody answers it then. Judging that and putting another in its place
 * are two steps: a guard lets one opener at a time take them, or each would remove the socket of the one before.
 */
async function listenAlone(path: string): Promise<Server | undefined> {
  const guard = `${path}.guard`;
  if (!(await takeGuard(guard))) return undefined;
  try {
    if (await isAnswered(path)) return undefined;
    rmSync(path, { force: true });
    return await listen(path);
  } finally {
    rmSync(guard, { recursive: true, force: true });
  }
}

/** Makes the directory that is the guard; false when somebody else holds it all the time. */
async function takeGuard(guard: string): Promise<boolean> {
  for (let attempt = 0; attempt < GUARD_ATTEMPTS; attempt += 1) {
    try {
      mkdirSync(guard);
      return true;
    } catch (error) {
      if (!isSystemError(error, 'EEXIST')) throw error;
      await sleep(GUARD_PAUSE);
    }
  }
  // Nobody needs it for so long: its holder was killed. The next attempt may have it.
  rmSync(guard, { recursive: true, force: true });
  return false;
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => {
      resolve(false);
    });
  });
}
