/** Where a segment's bytes go. The writer of an object store fits; its contract is the one stated here. */
export interface SegmentSink {
  /** It copies what it takes into memory of its own: then large pieces gain nothing. Default false. */
  readonly copies?: boolean;
  /** Takes the next bytes, which may be reused once the promise resolves. After a rejection only `abort` is called. */
  write(bytes: Uint8Array): Promise<void>;
  /** Makes the object durable, whole, in one step, and returns its size. */
  commit(): Promise<number>;
  /** Leaves nothing behind. Never rejects. */
  abort(): Promise<void>;
}
