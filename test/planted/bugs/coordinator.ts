/** Bugs of the coordinator: who may change what, and how the manifest keeps it. */
import { type PlantedBug, test } from '../bug.ts';

const MANIFEST = 'src/coordinator/manifest';
const COMMANDS = 'src/coordinator/commands';
const CONTRACT = 'coordinator/embedded-coordinator';
const TILES = 'live runs tile a stream from its log start to its high watermark';

export const COORDINATOR_BUGS: readonly PlantedBug[] = [
  {
    name: 'commit of a job without its coverage check',
    file: `${COMMANDS}/commit-job.ts`,
    source: `  parents.checkCoverage();`,
    replacement: '',
    breaks: 'a job that does not account for a live run of its inputs changes nothing',
    caughtBy: test(CONTRACT, 'a commit that leaves out a run is a conflict and changes nothing'),
  },
  {
    name: 'readable run dropped by a job',
    file: `${COMMANDS}/commit-job.ts`,
    source: `if (covers && state.runs.get(row, RUN.endOffset) > firstOffset) {`,
    replacement: `if (covers && state.runs.get(row, RUN.firstOffset) > state.runs.get(row, RUN.endOffset)) {`,
    breaks: TILES,
    caughtBy: test(
      'coordinator/embedded-coordinator',
      'a commit that drops readable records is a conflict and changes nothing',
    ),
  },
  {
    name: 'token of a job not compared',
    file: `${COMMANDS}/job-commands.ts`,
    source: `return job?.token === token && job.leaseUntil > state.now ? job : undefined;`,
    replacement: `return job !== undefined && job.leaseUntil > state.now ? job : undefined;`,
    breaks: 'only who holds a job commits it',
    caughtBy: test(CONTRACT, 'a released job frees its inputs, once'),
  },
  {
    name: 'lease of a job not checked',
    file: `${COMMANDS}/job-commands.ts`,
    source: `return job?.token === token && job.leaseUntil > state.now ? job : undefined;`,
    replacement: `return job?.token === token ? job : undefined;`,
    breaks: 'a job whose lease has ended commits nothing',
    caughtBy: test(
      'coordinator/embedded-coordinator',
      'a lease ends by the clock: then others may claim, and the old token is worth nothing',
    ),
  },
  {
    name: 'reservation committed after its deadline',
    file: `${COMMANDS}/object-commands.ts`,
    source: `if (object.state !== 'reserved' || state.now >= object.stateAt) {`,
    replacement: `if (object.state !== 'reserved') {`,
    breaks: 'an object that may be deleted as abandoned is not committed',
    caughtBy: test(
      CONTRACT,
      'after its deadline a reservation can no longer be committed, and its object is to be deleted',
    ),
  },
  {
    name: 'object deleted before its grace',
    file: 'src/coordinator/queries/object-queries.ts',
    source: `if (keys.length >= limit || now - object.stateAt < times.deleteGrace) break;`,
    replacement: `if (keys.length >= limit || now < object.stateAt || Number.isNaN(times.deleteGrace)) break;`,
    breaks: 'readers that found an object before it died can still read it',
    caughtBy: test(
      CONTRACT,
      'a dead object waits for its grace, goes when that is confirmed, and is remembered for a while',
    ),
  },
  {
    name: 'repeated commit not recognised',
    file: `${COMMANDS}/commit-object.ts`,
    source: `if (found !== undefined && found.committedAt > 0) return decide(storedAnswer(found, commit));`,
    replacement: '',
    breaks: 'a commit whose answer was lost is asked again, and takes effect once',
    caughtBy: test(
      CONTRACT,
      'a repeated commit returns the stored answer and changes nothing, whatever happened since',
    ),
  },
  {
    name: 'run committed behind the watermark',
    file: `${COMMANDS}/commit-object.ts`,
    source: `if (placed.firstOffset !== stream.next) {`,
    replacement: `if (placed.firstOffset < stream.next) {`,
    breaks: TILES,
    caughtBy: test(CONTRACT, 'between the watermark and a run is a conflict that names both, and changes nothing'),
  },
  {
    name: 'claim of a publisher not compared',
    file: `${COMMANDS}/publisher-marks.ts`,
    source: `return mark?.publishingId === previousId;`,
    replacement: `return mark === undefined || previousId !== undefined;`,
    breaks: 'of two processes that publish under one name, each id is there once',
    caughtBy: test(CONTRACT, 'a claim from behind where its publisher is says that somebody else has published'),
  },
  {
    name: 'epoch fence dropped on truncation',
    file: `${COMMANDS}/stream-commands.ts`,
    source: `  if (truncation.epoch <= epoch) {`,
    replacement: `  if (truncation.epoch < 0 && epoch < 0) {`,
    breaks: 'a truncation that comes too late cuts nothing',
    caughtBy: test(CONTRACT, 'asked again it changes nothing; an older epoch is a conflict'),
  },
  {
    name: 'run of an old epoch committed',
    file: `${COMMANDS}/commit-object.ts`,
    source: `if (run.epoch < stream.epoch) {`,
    replacement: `if (run.epoch < 0) {`,
    breaks: 'what was written before a truncation does not come in behind it',
    caughtBy: test(CONTRACT, 'a run of an epoch that the stream has left is a conflict'),
  },
  {
    name: 'retention by the wall clock',
    file: `${COMMANDS}/retention.ts`,
    source: `state.runs.get(row, RUN.lastTimestamp) < state.now - maxAge`,
    replacement: `state.runs.get(row, RUN.lastTimestamp) < Date.now() - maxAge`,
    breaks: 'all time is that of the coordinator, which never goes back',
    caughtBy: test(CONTRACT, "drops runs whose newest record is older than the age, by the coordinator's clock"),
  },
  {
    name: 'manifest acknowledged before its sync',
    file: `${MANIFEST}/log-writer.ts`,
    source: `    await this.#handle.sync();`,
    replacement: '',
    breaks: 'a commit that was answered is there after a crash',
    caughtBy: test('coordinator/group-commit', 'neither answers nor refusals nor reads run ahead of the disk'),
  },
  {
    name: 'no directory sync behind the swap of the manifest',
    file: `${MANIFEST}/manifest.ts`,
    source: `  place.fileSystem.syncDirectorySync(place.directory);
}`,
    replacement: '}',
    breaks: 'a snapshot that is removed is not needed after a crash',
    caughtBy: test(
      'coordinator/manifest-swap',
      'power loss at any step, after which of the changed names none is there',
    ),
  },
  {
    name: 'manifest block checksum skipped',
    file: `${MANIFEST}/block-reader.ts`,
    source: `if (xxh64(bytes.subarray(BLOCK_CHECKED_FROM), blockSeed(position)) !== checksum) return undefined;`,
    replacement: 'void xxh64, void blockSeed, void BLOCK_CHECKED_FROM;',
    breaks: 'damage is never returned as data',
    caughtBy: test('coordinator/manifest-damage', 'no wrong bit in a snapshot changes the state'),
  },
  {
    name: 'damage in the middle of the manifest taken for its end',
    file: `${MANIFEST}/log-reader.ts`,
    source: `    if (later !== undefined) {`,
    replacement: `    if (later !== undefined && later < position) {`,
    breaks: 'damage of what was acknowledged is reported, not cut off',
    caughtBy: test(
      'coordinator/manifest-damage',
      'after a crash, a wrong bit in the log is found, unless it is in the last block or in padding',
    ),
  },
  {
    name: 'tail of the manifest not written again',
    file: `${MANIFEST}/manifest.ts`,
    source: `  await writeWhole(handle, await window.read(lastBlock, end.position - lastBlock), lastBlock);`,
    replacement: '  void window, void lastBlock;',
    breaks: 'a block whose sync had failed is durable before anything is built on it',
    caughtBy: test('coordinator/manifest-swap', 'the last block is written again at open, in case its sync had failed'),
  },
  {
    name: 'manifest not held against the mark of its last close',
    file: `${MANIFEST}/log-reader.ts`,
    source: `if (this.#reached === undefined || this.#reached.sequence <= sequence) return;`,
    replacement: `if (this.#reached === undefined || sequence > 0) return;`,
    breaks: 'a manifest that was cut is damage, and not the end of the log',
    caughtBy: test(
      'coordinator/manifest-damage',
      'after a clean close, a log that is cut anywhere in front of its last change is refused',
    ),
  },
  {
    name: 'mark of the last close ahead of the log',
    file: 'src/coordinator/writing-ledger.ts',
    source: `const reached = log.end;`,
    replacement: `const reached = { ...log.end, sequence: log.end.sequence + 2 };`,
    breaks: 'a store that crashed in whatever way opens',
    caughtBy: test('coordinator/real-files', 'keeps its state from one opening to the next'),
  },
];
