/** A file of the manifest: CURRENT, LAST-CLOSE, a snapshot with its rows, or a log with its events. */
import { viewOf, readUint64 } from '../../base/bytes.ts';
import { type Block, findLaterBlock, readBlock } from '../../coordinator/manifest/block-reader.ts';
import type { ChainEnd, FileIdentity } from '../../coordinator/manifest/block-writer.ts';
import { ByteReader } from '../../coordinator/manifest/byte-reader.ts';
import { contentOf as reachedBy } from '../../coordinator/manifest/close-mark.ts';
import { contentFailure } from '../../coordinator/manifest/failures.ts';
import { FileWindow } from '../../coordinator/manifest/file-window.ts';
import {
  BLOCK_FIELD,
  BLOCK_HEADER_BYTES,
  BLOCK_KIND,
  BLOCK_MAGIC,
  type BlockKind,
  STORE_ID_BYTES,
} from '../../coordinator/manifest/format.ts';
import { readBatch } from '../../coordinator/manifest/log-reader.ts';
import { snapshotRow } from '../../coordinator/manifest/snapshot-rows.ts';
import { isMillraceError } from '../../errors/millrace-error.ts';
import { type Cell, time } from '../text.ts';
import type { Dumper, FileDump } from './file-dump.ts';
import type { InputFile } from './input-file.ts';

export const manifestDumper: Dumper = {
  kind: 'manifest',
  magic: { position: BLOCK_FIELD.magic, value: BLOCK_MAGIC },
  dump,
};

/** An event of a log, a row of a snapshot, or what a mark says. */
interface Entry {
  readonly type: string;
}

interface BlockDump {
  readonly position: number;
  readonly sequence: number;
  /** Of a log's block: coordinator time in milliseconds. */
  readonly now?: number;
  readonly entries: readonly Entry[];
}

interface Chain {
  readonly blocks: readonly BlockDump[];
  /** The last block says that it is the last. */
  readonly ended: boolean;
  readonly end: ChainEnd;
  readonly problem: string | undefined;
}

async function dump(input: InputFile): Promise<FileDump> {
  if (input.size < BLOCK_HEADER_BYTES) {
    const problem = `${input.size} bytes, where a block has ${BLOCK_HEADER_BYTES} at least`;
    return { facts: [['bytes', input.size]], tables: [], json: { bytes: input.size }, problems: [problem] };
  }
  const window = new FileWindow(input.handle, input.size);
  const { identity, start } = await firstHeader(window);
  const chain = await readChain(window, identity, start);
  const storeId = Buffer.from(identity.storeId).toString('hex');
  const holds = kindName(identity.kind);
  const restBytes = input.size - chain.end.position;
  const facts = { storeId, holds, fileNumber: identity.fileNumber, bytes: input.size, restBytes };
  return {
    facts: [
      ['store', storeId],
      ['holds', holds],
      ['file number', identity.fileNumber],
      ['bytes', input.size],
      ['blocks', chain.blocks.length],
      ['bytes behind the last block', restBytes],
    ],
    tables: [{ heading: ['position', 'block', 'time', 'entry', 'details'], rows: chain.blocks.flatMap(rowsOf) }],
    json: { ...facts, blocks: chain.blocks },
    problems: await problemsOf(window, identity, chain),
  };
}

/** Only what is needed to follow the chain: the first block is judged with all others. */
async function firstHeader(window: FileWindow): Promise<{ identity: FileIdentity; start: ChainEnd }> {
  const bytes = await window.read(0, BLOCK_HEADER_BYTES);
  const view = viewOf(bytes);
  const identity = {
    kind: view.getUint16(BLOCK_FIELD.kind, true) as BlockKind,
    storeId: bytes.slice(BLOCK_FIELD.storeId, BLOCK_FIELD.storeId + STORE_ID_BYTES),
    fileNumber: readUint64(view, BLOCK_FIELD.fileNumber),
  };
  return { identity, start: { sequence: 0, previous: view.getBigUint64(BLOCK_FIELD.previous, true), position: 0 } };
}

async function readChain(window: FileWindow, identity: FileIdentity, start: ChainEnd): Promise<Chain> {
  const blocks: BlockDump[] = [];
  let end = start;
  let ended = false;
  try {
    for (;;) {
      const block = await readBlock(window, identity, end);
      if (block === undefined) return { blocks, ended, end, problem: undefined };
      blocks.push({ position: end.position, sequence: end.sequence, ...contentOf(window, identity.kind, block, end) });
      ended = block.last;
      end = block.end;
    }
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    return { blocks, ended, end, problem: error.message };
  }
}

function contentOf(
  window: FileWindow,
  kind: BlockKind,
  { payload }: Block,
  { position }: ChainEnd,
): { readonly now?: number; readonly entries: readonly Entry[] } {
  try {
    if (kind === BLOCK_KIND.log) {
      const { now, events } = readBatch(payload);
      return { now, entries: events };
    }
    if (kind === BLOCK_KIND.close) {
      const { sequence, position, previous } = reachedBy(payload);
      const entry = { type: 'reached', blocks: sequence, bytes: position, checksum: previous.toString(16) };
      return { entries: [entry] };
    }
    const entries: Entry[] = [];
    const reader = new ByteReader(payload);
    while (kind === BLOCK_KIND.snapshot && reader.remaining > 0) entries.push(snapshotRow.read(reader));
    return { entries };
  } catch (error) {
    throw contentFailure(window.path, position, error);
  }
}

async function problemsOf(window: FileWindow, identity: FileIdentity, chain: Chain): Promise<string[]> {
  const { end, problem, ended } = chain;
  if (problem !== undefined) return [problem];
  const here = `block ${end.sequence} at ${end.position} is not sound`;
  if (end.sequence === 0) return [here];
  if (identity.kind === BLOCK_KIND.snapshot && !ended) return [here];
  // Behind the end of a log may lie what a power loss left of a block that nobody was told of.
  const later = await findLaterBlock(window, identity, end);
  return later === undefined ? [] : [`${here}, and one at ${later} is`];
}

function rowsOf({ position, sequence, now, entries }: BlockDump): Cell[][] {
  const place = [position, sequence, now === undefined ? '-' : time(now)];
  if (entries.length === 0) return [[...place, '-', '']];
  return entries.map((entry) => [...place, entry.type, detailsOf(entry)]);
}

/** Lists by their length: one commit can have a million runs. The whole of it is in the JSON. */
function detailsOf({ type: _type, ...details }: Entry): string {
  return Object.entries(details)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${Array.isArray(value) ? `[${value.length}]` : JSON.stringify(value)}`)
    .join(' ');
}

function kindName(kind: number): string {
  return Object.entries(BLOCK_KIND).find(([, value]) => value === kind)?.[0] ?? `unknown kind ${kind}`;
}
