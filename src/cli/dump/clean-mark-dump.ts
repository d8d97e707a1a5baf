/** The clean mark of a lane: the log is in segments, and opening need not read it. */
import { viewOf } from '../../base/bytes.ts';
import { CLEAN_BYTES, CLEAN_MAGIC, CLEAN_VERSION, parseCleanMark } from '../../wal/clean-mark.ts';
import type { Dumper, FileDump } from './file-dump.ts';
import type { InputFile } from './input-file.ts';

export const cleanMarkDumper: Dumper = { kind: 'clean mark', magic: { position: 0, value: CLEAN_MAGIC }, dump };

async function dump(input: InputFile): Promise<FileDump> {
  if (input.size !== CLEAN_BYTES) {
    const problem = `${input.size} bytes, where the file has ${CLEAN_BYTES}`;
    return { facts: [['bytes', input.size]], tables: [], json: { bytes: input.size }, problems: [problem] };
  }
  const { version, lane, storeId, start, flushed, sound } = parseCleanMark(viewOf(await input.read(0, CLEAN_BYTES)));
  const store = Buffer.from(storeId).toString('hex');
  const problems = sound ? [] : ['the checksum does not hold'];
  if (version > CLEAN_VERSION) problems.push(`version ${version}, this millrace knows up to ${CLEAN_VERSION}`);
  return {
    facts: [
      ['store', store],
      ['version', version],
      ['lane', lane],
      ['goes on with slot sequence', start.slotSequence],
      ['goes on behind block', start.blockSequence],
      ['slot sequence in segments', flushed.slotSequence],
      ['last block in segments', flushed.blockSequence],
    ],
    tables: [],
    json: { storeId: store, version, lane, start, flushed },
    problems,
  };
}
