/** The file `STORE`: which store a directory holds. */
import { viewOf } from '../../base/bytes.ts';
import { xxh64 } from '../../codec/checksum.ts';
import { STORE_ID_BYTES } from '../../ring/block-format.ts';
import { STORE_MAGIC, STORE_VERSION } from '../../store/identity.ts';
import type { Dumper, FileDump } from './file-dump.ts';
import type { InputFile } from './input-file.ts';

export const identityDumper: Dumper = { kind: 'store identity', magic: { position: 0, value: STORE_MAGIC }, dump };

const FILE_BYTES = 32;
const VERSION = 4;
const STORE_ID = 8;
const CHECKSUM = 24;

async function dump(input: InputFile): Promise<FileDump> {
  if (input.size !== FILE_BYTES) {
    const problem = `${input.size} bytes, where the file has ${FILE_BYTES}`;
    return { facts: [['bytes', input.size]], tables: [], json: { bytes: input.size }, problems: [problem] };
  }
  const bytes = await input.read(0, FILE_BYTES);
  const view = viewOf(bytes);
  const version = view.getUint16(VERSION, true);
  const storeId = Buffer.from(bytes.subarray(STORE_ID, STORE_ID + STORE_ID_BYTES)).toString('hex');
  const sound = xxh64(bytes.subarray(0, CHECKSUM)) === view.getBigUint64(CHECKSUM, true);
  const problems = sound ? [] : ['the checksum does not hold'];
  if (version > STORE_VERSION) problems.push(`version ${version}, this millrace knows up to ${STORE_VERSION}`);
  return {
    facts: [
      ['store', storeId],
      ['version', version],
    ],
    tables: [],
    json: { storeId, version },
    problems,
  };
}
