/** `millrace dump`: what a file of a store holds, for people and for programs. */
import { realpathSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { Command } from 'commander';
import { viewOf } from '../base/bytes.ts';
import { NodeFileSystem } from '../base/node-file-system.ts';
import { loadChecksum } from '../codec/checksum.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import { LOCK_FILE } from '../store/lock.ts';
import { cleanMarkDumper } from './dump/clean-mark-dump.ts';
import { type DumpOptions, type Dumper, type FileDump, MAGIC_READ_BYTES } from './dump/file-dump.ts';
import { identityDumper } from './dump/identity-dump.ts';
import { manifestDumper } from './dump/manifest-dump.ts';
import { segmentDumper } from './dump/segment-dump.ts';
import { slotDumper } from './dump/slot-dump.ts';
import { openInput, type InputFile } from './dump/input-file.ts';
import { EXIT } from './failure.ts';
import { examples } from './help.ts';
import { print, printJson } from './output.ts';
import { pairs, table } from './text.ts';

const DUMPERS: readonly Dumper[] = [identityDumper, slotDumper, cleanMarkDumper, segmentDumper, manifestDumper];

export function dumpCommand(): Command {
  return new Command('dump')
    .summary('show what is in one file of a store')
    .description(
      'Shows what is in one file of a store: STORE, a slot of the write-ahead log or its clean mark, a segment, or a ' +
        'file of the manifest. Tells them apart by their first bytes. Exit code 1 when the file is damaged.',
    )
    .argument('<file>', 'path of the file')
    .option('--frames', 'a slot: also list the frames in every block')
    .option('--json', 'print a JSON object')
    .addHelpText(
      'after',
      examples(
        'millrace dump ./data/STORE',
        'millrace dump ./data/wal/lane-000-slot-000.wal --frames',
        "millrace dump ./data/objects/segments/*-*.seg --json | jq '.runs[].records'",
      ),
    )
    .action((file: string, options: { readonly frames?: true; readonly json?: true }) =>
      dump(file, { frames: options.frames === true }, options.json === true),
    );
}

async function dump(path: string, options: DumpOptions, json: boolean): Promise<void> {
  await loadChecksum();
  const input = openInput(new NodeFileSystem(), followed(resolve(path)), path);
  try {
    const dumper = await recognize(input);
    const found = await dumper.dump(input, options);
    if (found.problems.length > 0) process.exitCode = EXIT.failed;
    if (json) await printJson({ file: path, kind: dumper.kind, ...found.json, problems: found.problems });
    else await printText(path, dumper.kind, found);
  } finally {
    input.close();
  }
}

/** Whoever names a link means what it leads to. */
function followed(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // What is wrong with the path is told by who opens it.
    return path;
  }
}

async function recognize(input: InputFile): Promise<Dumper> {
  if (basename(input.name) === LOCK_FILE) throw notDumpable(input, 'it only shows that a writer has been here');
  if (input.size === 0) throw notDumpable(input, 'it is empty');
  const start = new Uint8Array(MAGIC_READ_BYTES);
  start.set(await input.read(0, Math.min(input.size, start.length)));
  const view = viewOf(start);
  const found = DUMPERS.find(({ magic }) => view.getUint32(magic.position, true) === magic.value);
  if (found !== undefined) return found;
  throw notDumpable(input, `no file of a store, or damaged at its beginning: it starts with ${hexadecimal(start)}`);
}

function notDumpable({ name }: InputFile, reason: string): MillraceError {
  return new MillraceError('ERR_MILLRACE_INVALID_ARGUMENT', `there is nothing to show of ${name}: ${reason}`, {
    details: { file: name },
  });
}

async function printText(path: string, kind: string, found: FileDump): Promise<void> {
  await print(pairs([['file', path], ['kind', kind], ...found.facts]));
  for (const { heading, rows } of found.tables) {
    if (rows.length > 0) await print(`\n${table(heading, rows)}`);
  }
  for (const problem of found.problems) await print(`damaged: ${problem}\n`);
}

function hexadecimal(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
