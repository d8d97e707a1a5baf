/** `millrace recover`: moves what a crash left in the write-ahead log into segments, where every command reads it. */
import { Command } from 'commander';
import type { Store } from '../store/store.ts';
import type { RecoveryReport } from '../wal/recovery.ts';
import { parseDirectory } from './arguments.ts';
import { examples } from './help.ts';
import { openExisting } from './open-existing.ts';
import { print, printJson } from './output.ts';
import { objectsGiven, objectsOption } from './place.ts';
import { counted } from './text.ts';

interface RecoverOptions {
  readonly salvage?: true;
  readonly objects?: string;
  readonly json?: true;
}

/** Offsets of a stream that a salvage found no record for. */
interface Loss {
  readonly stream: string;
  readonly firstOffset: number;
  readonly nextOffset: number;
}

/** A truncation that a salvage found missing: the stream goes on at `nextOffset`. */
interface LostCut {
  readonly stream: string;
  readonly nextOffset: number;
}

export function recoverCommand(): Command {
  return new Command('recover')
    .summary('recover what a crash left in the log')
    .description(
      'Opens the store for writing, as the next writer would, moves what is in the write-ahead log only into ' +
        'segments, and says what that was. Needs the store for itself.',
    )
    .argument('<dir>', 'directory of the store', parseDirectory)
    .option('--salvage', 'skip acknowledged records that are damaged in the log: they are lost')
    .addOption(objectsOption())
    .option('--json', 'print a JSON object')
    .addHelpText('after', examples('millrace recover ./data', 'millrace recover ./data --salvage --json'))
    .action((dir: string, options: RecoverOptions) => recover(dir, options));
}

async function recover(dir: string, { salvage, objects, json }: RecoverOptions): Promise<void> {
  const store = await openExisting({
    dir,
    salvage: salvage === true,
    compaction: false,
    ...(await objectsGiven(objects)),
  });
  let report: RecoveryReport | undefined;
  let lost: readonly Loss[];
  let lostTruncations: readonly LostCut[];
  try {
    report = store.stats().recovery;
    const nameOf = await streamNames(store);
    lost = (report?.lost ?? []).map(({ streamId, ...range }) => ({ stream: nameOf(streamId), ...range }));
    lostTruncations = (report?.lostTruncations ?? []).map(({ streamId, nextOffset }) => {
      return { stream: nameOf(streamId), nextOffset };
    });
    await store.flush();
  } finally {
    await store.close();
  }
  const found = { records: report?.records ?? 0, blocks: report?.blocks ?? 0, damages: report?.damages.length ?? 0 };
  if (json === true) {
    await printJson({ ...found, lost, lostTruncations });
    return;
  }
  await print(
    found.records === 0
      ? 'nothing to recover: no record was in the log only\n'
      : `${counted(found.records, 'record')} recovered from ${counted(found.blocks, 'block')} of the log\n`,
  );
  if (found.damages > 0) await print(`${counted(found.damages, 'damaged place')} of the log skipped\n`);
  for (const { stream, firstOffset, nextOffset } of lost) {
    await print(`lost: ${stream}: offsets ${firstOffset} to ${nextOffset - 1}\n`);
  }
  for (const { stream, nextOffset } of lostTruncations) {
    await print(
      `lost: ${stream}: a truncation; the stream goes on at offset ${nextOffset}, and records right below may be ` +
        'older ones that it had cut\n',
    );
  }
}

async function streamNames(store: Store): Promise<(streamId: number) => string> {
  const names = new Map((await store.streams()).map(({ streamId, name }) => [streamId, name]));
  return (streamId) => names.get(streamId) ?? `stream ${streamId}`;
}
