/** Where a manifest lies, and whose it is. */
import type { FileSystem } from '../../base/file-system.ts';

export interface ManifestPlace {
  readonly fileSystem: FileSystem;
  /** Absolute path. Its parent exists. */
  readonly directory: string;
  readonly storeId: Uint8Array;
}
