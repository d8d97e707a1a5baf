/** The public interface. */
export { open } from './store/open.ts';
export type { Store } from './store/store.ts';
export type { OpenOptions, WalOptions } from './store/options.ts';
export type { CompactRequest, CompactSummary } from './compaction/agent.ts';
export type { CompactionOptions } from './compaction/settings.ts';
export type { StoreStats } from './store/stats.ts';
export type { VerifyProblem, VerifyReport } from './store/verify.ts';
export type { Stream, StreamInfo } from './stream/stream.ts';
export type { StreamOptions } from './stream/stream-options.ts';
export type { ReadFrom, ReadOptions } from './stream/read-options.ts';
export type { AppendOptions, RecordInput, RecordValue } from './record/record-input.ts';
export type { RecordBatch, StreamRecord } from './record/record-batch.ts';
export type { Cleanup, Compression, Retention, StreamConfig, StreamDescription } from './record/stream-config.ts';
export type { RecoveryReport } from './wal/recovery.ts';
export { isMillraceError, MillraceError } from './errors/millrace-error.ts';
export type { ErrorDetails } from './errors/millrace-error.ts';
export type { ErrorCode, ErrorKind } from './errors/codes.ts';
