/// <reference types="node" preserve="true" />
/** The public interface. */
export { open } from './store/open.ts';
export { attachProducer, type Producer, type ProducerStream } from './store/producers/guest.ts';
export type { ProducerHandle, ProducerOptions } from './store/producers/handle.ts';
export { backups, verifyBackup } from './store/backup.ts';
export type { BackupDescription } from './store/backup.ts';
export type { BackupTarget } from './store/backup-target.ts';
export { restore } from './store/restore.ts';
export type { RestoreOptions, RestoreReport } from './store/restore.ts';
export type { BackupOptions, BackupReport } from './backup/backup.ts';
export type { Store } from './store/store.ts';
export type { StoreEvents } from './store/store-events.ts';
export type { OpenOptions, WalOptions } from './store/options.ts';
export type { DisklessOptions } from './store/diskless-options.ts';
export type { CompactRequest, CompactSummary } from './compaction/agent.ts';
export type { CompactionOptions } from './compaction/settings.ts';
export type { StoreStats } from './store/stats.ts';
export type { DescribedObject } from './store/describe-object.ts';
export type { OrphanOptions, OrphanReport } from './store/orphans.ts';
export type { FoundRun, ObjectDescription, ObjectFilter, ObjectState } from './coordinator/coordinator.ts';
export type { ObjectEntry } from './object/object-store.ts';
export type { HeldRange, VerifyOptions, VerifyProblem, VerifyReport } from './store/verify.ts';
export type { ConsumerOffset, Stream } from './stream/stream.ts';
export type { StreamInfo } from './stream/stream-info.ts';
export type { Published, PublishedInput, Publisher } from './stream/publisher.ts';
export type { StreamOptions } from './stream/stream-options.ts';
export type { AppendControl } from './stream/append-control.ts';
export type { JsonInput, JsonRecord, JsonStream } from './stream/json-stream.ts';
export type { BatchReadOptions, ReadFrom, ReadOptions } from './stream/read-options.ts';
export type { AppendOptions, RecordInput, RecordValue } from './record/record-input.ts';
export type { RecordBatch, StreamRecord } from './record/record-batch.ts';
export type { Cleanup, Compression, Retention, StreamConfig, StreamDescription } from './record/stream-config.ts';
export type { RecoveryReport } from './wal/recovery.ts';
export type {
  AppendMessage,
  CompactionMessage,
  ErrorMessage,
  FlushMessage,
  RecoveryMessage,
  TrimMessage,
} from './base/channels.ts';
export { measurePerformance } from './base/performance-measures.ts';
export { setWorkerFiles } from './thread/worker-files.ts';
export type { WorkerFiles } from './thread/worker-files.ts';
export { isMillraceError, MillraceError } from './errors/millrace-error.ts';
export type { ErrorDetails } from './errors/millrace-error.ts';
export type { ErrorCode, ErrorKind } from './errors/codes.ts';
