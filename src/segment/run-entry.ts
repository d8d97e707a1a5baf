/** One entry of a segment's run table. Its layout is in `format.ts`. */
import { readInt64, readUint64, writeInt64, writeUint64 } from '../base/bytes.ts';
import { type FooterRun, RUN_FIELD, RUN_FLAG } from './format.ts';

export function writeRun(view: DataView, at: number, run: FooterRun): void {
  view.setUint32(at + RUN_FIELD.streamId, run.streamId, true);
  view.setUint32(at + RUN_FIELD.chunks, run.chunks, true);
  writeUint64(view, at + RUN_FIELD.firstOffset, run.firstOffset);
  writeUint64(view, at + RUN_FIELD.nextOffset, run.nextOffset);
  writeUint64(view, at + RUN_FIELD.byteOffset, run.byteOffset);
  writeUint64(view, at + RUN_FIELD.byteLength, run.byteLength);
  writeUint64(view, at + RUN_FIELD.records, run.records);
  writeUint64(view, at + RUN_FIELD.userBytes, run.userBytes);
  writeUint64(view, at + RUN_FIELD.trackingBytes, run.trackingBytes);
  writeInt64(view, at + RUN_FIELD.firstTimestamp, run.firstTimestamp);
  writeInt64(view, at + RUN_FIELD.lastTimestamp, run.lastTimestamp);
  view.setUint32(at + RUN_FIELD.epoch, run.epoch, true);
  view.setUint32(at + RUN_FIELD.flags, run.relative ? RUN_FLAG.relative : 0, true);
  writeUint64(view, at + RUN_FIELD.deadRecordBytes, run.dead.records);
  writeUint64(view, at + RUN_FIELD.deadTrackingBytes, run.dead.tracking);
  view.setUint32(at + RUN_FIELD.firstChunk, run.firstChunk, true);
  view.setUint32(at + RUN_FIELD.reserved, 0, true);
}

/** Reads an entry without judging it; fields above 2^53 - 1 are `NaN`. */
export function readRun(view: DataView, at: number): FooterRun {
  return {
    streamId: view.getUint32(at + RUN_FIELD.streamId, true),
    firstOffset: readUint64(view, at + RUN_FIELD.firstOffset),
    nextOffset: readUint64(view, at + RUN_FIELD.nextOffset),
    records: readUint64(view, at + RUN_FIELD.records),
    userBytes: readUint64(view, at + RUN_FIELD.userBytes),
    trackingBytes: readUint64(view, at + RUN_FIELD.trackingBytes),
    firstTimestamp: readInt64(view, at + RUN_FIELD.firstTimestamp),
    lastTimestamp: readInt64(view, at + RUN_FIELD.lastTimestamp),
    epoch: view.getUint32(at + RUN_FIELD.epoch, true),
    byteOffset: readUint64(view, at + RUN_FIELD.byteOffset),
    byteLength: readUint64(view, at + RUN_FIELD.byteLength),
    chunks: view.getUint32(at + RUN_FIELD.chunks, true),
    relative: (view.getUint32(at + RUN_FIELD.flags, true) & RUN_FLAG.relative) !== 0,
    dead: {
      records: readUint64(view, at + RUN_FIELD.deadRecordBytes),
      tracking: readUint64(view, at + RUN_FIELD.deadTrackingBytes),
    },
    firstChunk: view.getUint32(at + RUN_FIELD.firstChunk, true),
  };
}
