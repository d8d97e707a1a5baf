/** Which shape the ring takes, and what that allows: pure. */
import { RECORD_BYTES_DEFAULT, SLOT_BYTES_DEFAULT, SLOTS_DEFAULT } from '../limits/limits.ts';
import { geometryProblem, type RingGeometry } from '../ring/geometry.ts';
import { invalid } from '../errors/argument-checks.ts';
import type { Settings } from './options.ts';

/** Bytes of a slot that a single record can never use: the file's header page, block and frame headers, padding. */
const SLOT_OVERHEAD_BYTES = 8_192;

/** What was asked for; where nothing was, what the store has, and the default in a new one. */
export function chooseGeometry({ geometry: given }: Settings, existing: RingGeometry | undefined): RingGeometry {
  const geometry = { ...(existing ?? { slots: SLOTS_DEFAULT, slotBytes: SLOT_BYTES_DEFAULT }), ...given };
  const problem = geometryProblem(geometry);
  if (problem === undefined) return geometry;
  throw invalid(`options wal.slots ${geometry.slots} and wal.slotBytes ${geometry.slotBytes}: ${problem}`);
}

/** The largest record that a slot of this size can take. */
export function recordBytesLimit({ slotBytes }: Pick<RingGeometry, 'slotBytes'>): number {
  return slotBytes - SLOT_OVERHEAD_BYTES;
}

/** The largest record: as asked for, if a slot of this size can take it. */
export function recordBytesMax({ maxRecordBytes: given, diskless }: Settings, { slotBytes }: RingGeometry): number {
  const most = recordBytesLimit({ slotBytes });
  if (given === undefined) return Math.min(RECORD_BYTES_DEFAULT, most);
  if (given <= most) return given;
  throw invalid(
    `option maxRecordBytes ${given} is at most ${most} with ` +
      `${diskless === undefined ? 'wal' : 'diskless'}.slotBytes ${slotBytes}: raise that too`,
  );
}

export function sameGeometry(left: RingGeometry, right: RingGeometry): boolean {
  return left.slots === right.slots && left.slotBytes === right.slotBytes;
}
