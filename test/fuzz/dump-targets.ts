/** `millrace dump` of hostile files: it describes them, or says why it cannot. */
import { viewOf } from '../../src/base/bytes.ts';
import { cleanMarkDumper } from '../../src/cli/dump/clean-mark-dump.ts';
import type { Dumper } from '../../src/cli/dump/file-dump.ts';
import { identityDumper } from '../../src/cli/dump/identity-dump.ts';
import { openInput } from '../../src/cli/dump/input-file.ts';
import { manifestDumper } from '../../src/cli/dump/manifest-dump.ts';
import { segmentDumper } from '../../src/cli/dump/segment-dump.ts';
import { slotDumper } from '../../src/cli/dump/slot-dump.ts';
import { ReadOnlyFiles } from '../bits/read-only-files.ts';
import { decodedAsync, type Target } from './target.ts';

const DUMPERS: readonly Dumper[] = [identityDumper, slotDumper, cleanMarkDumper, segmentDumper, manifestDumper];
const PATH = '/a file';

async function dump(bytes: Uint8Array): Promise<void> {
  const files = new ReadOnlyFiles();
  files.set(PATH, bytes);
  const view = viewOf(bytes);
  const dumper = DUMPERS.find(
    ({ magic: { position, value } }) => position + 4 <= bytes.length && view.getUint32(position, true) === value,
  );
  if (dumper === undefined) return;
  const input = openInput(files, PATH, PATH);
  await decodedAsync(() => dumper.dump(input, { frames: true }));
  input.close();
}

/** The same inputs as those of the decoders of whole files. */
export function dumpTargets(files: readonly Target[]): Target[] {
  return files.map((target) => ({ ...target, name: `dump of ${target.name}`, run: dump }));
}
