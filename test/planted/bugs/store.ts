/** Bugs of what lies around the log: lanes of other threads, the place of the objects, backups. */
import { type PlantedBug, test } from '../bug.ts';

const BACKUP = 'src/backup/backup.ts';
const LANES = 'src/store/producers';
const RESTORED = 'a restored store has what was backed up, or the restore says what is damaged';

export const STORE_BUGS: readonly PlantedBug[] = [
  {
    name: 'handle of a producer attached twice',
    file: `${LANES}/guest.ts`,
    source: `if (Atomics.exchange(new Int32Array(lane.claim), 0, 1) === 0) return;`,
    replacement: `if (Atomics.exchange(new Int32Array(lane.claim), 0, 1) >= 0) return;`,
    breaks: 'a lane has one writer',
    caughtBy: test(
      'store/producers/producers',
      'a handle is taken over once: two writers of one ring would overwrite what was acknowledged',
    ),
  },
  {
    name: 'files of a new lane made without a mark',
    file: `${LANES}/lane-files.ts`,
    source: `    writeCleanMark(place, { start, flushed });
    await createSlotFiles`,
    replacement: `    await createSlotFiles`,
    breaks: 'opening works without help, whenever a process is killed',
    caughtBy: test(
      'store/producers/lane-birth',
      'a crash between the files of a lane leaves a store that opens, also when the lane is an old one',
    ),
  },
  {
    name: 'objects not looked for where they should be',
    file: 'src/store/misplaced-objects.ts',
    source: `  if (!settings.salvage) await refuseElsewhere(committed, objects, settings);`,
    replacement: '',
    breaks: 'a store whose objects were swapped for those of another place is not written to',
    caughtBy: test('store/objects-elsewhere', 'a WAL is not written to where none of its segments is'),
  },
  {
    name: 'backup of another store continued',
    file: BACKUP,
    source: `    if (!bytesEqual(head.storeId, storeId)) throw foreignTarget(head.storeId, storeId);`,
    replacement: '',
    breaks: RESTORED,
    caughtBy: test(
      'backup/backup',
      'a restored store is another one: it takes neither files nor a target of the original',
    ),
  },
  {
    name: 'leftover of a backup that was cut short believed',
    file: BACKUP,
    source: `if (found.named && found.bytes === bytes) return true;`,
    replacement: `if (found.bytes > 0) return true;`,
    breaks: RESTORED,
    caughtBy: test(
      'backup/backup',
      'a segment that a backup which was cut short left behind is judged before it is believed',
    ),
  },
  {
    name: 'objects of a backup that stays removed',
    file: BACKUP,
    source: `for (const number of numbers.slice(old.length, -1)) {`,
    replacement: `for (const number of numbers.slice(old.length + 1, -1)) {`,
    breaks: RESTORED,
    caughtBy: test('backup/backup', 'a backup that stays keeps what only it needs'),
  },
];
