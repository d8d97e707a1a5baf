/** Every workload, in the order in which they run. */
import { chunkRead, chunkWrite } from './micro/chunks.ts';
import { checksum, compression, decompression } from './micro/codecs.ts';
import { coordinatorCommit, coordinatorFind } from './micro/coordinator.ts';
import { frameRead, frameWrite } from './micro/frames.ts';
import { memtableAdd, memtableFind, ringAppend } from './micro/ring.ts';
import type { Workload } from './workload.ts';
import { burst } from './workloads/burst.ts';
import { idleFollowers } from './workloads/idle-followers.ts';
import { ingest } from './workloads/ingest.ts';
import { inFlight } from './workloads/in-flight.ts';
import { manyStreams } from './workloads/many-streams.ts';
import { openingAfterClose, openingAfterKill } from './workloads/opening.ts';
import { openingStream } from './workloads/opening-stream.ts';
import { pointRead } from './workloads/point-read.ts';
import { producers } from './workloads/producers.ts';
import { scan } from './workloads/scan.ts';
import { RECORD_SIZES } from './workloads/sizes.ts';
import { sustained } from './workloads/sustained.ts';
import { tailing } from './workloads/tailing.ts';
import { window } from './workloads/window.ts';

export const WORKLOADS: readonly Workload[] = [
  ringAppend,
  frameWrite,
  frameRead,
  memtableAdd,
  memtableFind,
  checksum,
  compression,
  decompression,
  chunkWrite,
  chunkRead,
  coordinatorCommit,
  coordinatorFind,
  ...RECORD_SIZES.map(burst),
  ...RECORD_SIZES.map(inFlight),
  producers,
  window(64),
  window(1),
  ingest,
  sustained,
  manyStreams(1_000, { subject: 'ratio', bound: 'at least', limit: 0.9 }),
  manyStreams(10_000, { subject: 'ratio', bound: 'at least', limit: 0.6, goal: 0.8 }),
  ...RECORD_SIZES.slice(0, 2).map(scan),
  pointRead,
  tailing,
  idleFollowers,
  openingAfterKill,
  openingAfterClose,
  openingStream,
];
