/**
 * `npm run fixtures`: makes the golden stores of the format version that this millrace writes, where there are none.
 * Those that exist never change: they are what users have on their disks.
 */
import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { contentOfManifest, contentOfStore } from './content.ts';
import { goldenContentPath, goldenPath } from './fixtures.ts';
import { RECIPES } from './recipes.ts';

for (const { name, holds, make } of RECIPES) {
  const dir = goldenPath(name);
  if (existsSync(dir)) {
    console.log(`${name}: is there already`);
    continue;
  }
  const scratch = temporaryDirectory();
  const [made, copy] = [join(scratch.path, 'made'), join(scratch.path, 'copy')];
  await make(made, join(scratch.path, 'scratch'));
  cpSync(made, copy, { recursive: true });
  const content = await (name === 'manifest' ? contentOfManifest(copy) : contentOfStore(copy));
  mkdirSync(dirname(dir), { recursive: true });
  cpSync(made, dir, { recursive: true, filter: (path) => !basename(path).startsWith('LOCK') });
  writeFileSync(goldenContentPath(name), `${JSON.stringify(content, undefined, 1)}\n`);
  console.log(`${name}: ${holds}`);
  scratch.remove();
}
