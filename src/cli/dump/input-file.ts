/** The file to dump, read by position. */
import type { FileHandle, FileSystem } from '../../base/file-system.ts';
import { MillraceError } from '../../errors/millrace-error.ts';

export interface InputFile {
  /** As the user wrote it. */
  readonly name: string;
  readonly size: number;
  readonly handle: FileHandle;
  /** Reads exactly `length` bytes, which the file has to hold. */
  read(position: number, length: number): Promise<Uint8Array>;
  close(): void;
}

/** Opens for reading. Throws `ERR_MILLRACE_READ_FAILED`. */
export function openInput(fileSystem: FileSystem, path: string, name: string): InputFile {
  const handle = openFile(fileSystem, path, name);
  return {
    name,
    size: handle.sizeSync(),
    handle,
    read: (position, length) => readFully(handle, name, position, length),
    close: () => {
      handle.closeSync();
    },
  };
}

function openFile(fileSystem: FileSystem, path: string, name: string): FileHandle {
  const kind = kindOf(fileSystem, path);
  if (kind === undefined) throw unreadable(name, 'there is no such file: check the path');
  if (kind === 'directory') throw unreadable(name, 'it is a directory: name one file in it');
  try {
    const handle = fileSystem.openSync(path, { access: 'read' });
    // Reading is what fails on a directory, and on a disk that is broken.
    handle.readSync(new Uint8Array(1), 0, 1, 0);
    return handle;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw unreadable(name, reason, cause);
  }
}

/** `undefined` when there is nothing, also below what is no directory. */
function kindOf(fileSystem: FileSystem, path: string): string | undefined {
  try {
    return fileSystem.statSync(path)?.kind;
  } catch (cause) {
    throw unreadable(path, cause instanceof Error ? cause.message : String(cause), cause);
  }
}

function unreadable(name: string, reason: string, cause?: unknown): MillraceError {
  return new MillraceError('ERR_MILLRACE_READ_FAILED', `${name} cannot be read: ${reason}`, {
    details: { file: name },
    cause,
  });
}

async function readFully(handle: FileHandle, name: string, position: number, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  for (let done = 0; done < length;) {
    const count = await handle.read(bytes, done, length - done, position + done);
    if (count === 0) {
      throw new MillraceError('ERR_MILLRACE_READ_FAILED', `${name} ended at ${position + done} while it was read`, {
        details: { file: name, position: position + done },
      });
    }
    done += count;
  }
  return bytes;
}
