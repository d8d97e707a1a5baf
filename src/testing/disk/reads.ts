/** What whoever uses a disk comes to know of it. Nodes are named by their number. */
export interface DiskReads {
  /** Whether there is such a name in a directory, and for what. */
  name(directory: number, name: string): void;
  /** All names in a directory. */
  names(directory: number): void;
  /** The length of a file. */
  size(file: number): void;
  /** Bytes of a file. */
  content(file: number, position: number, length: number): void;
}
