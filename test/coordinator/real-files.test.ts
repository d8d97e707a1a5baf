import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { join } from 'node:path';
import { ManualClock } from '../../src/base/clock.ts';
import { NodeFileSystem } from '../../src/base/node-file-system.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { dump, EVENTFUL, openOver } from './fixture.ts';

suite('embedded coordinator on real files', () => {
  for (const logBytesMin of [1, 1e9]) {
    test(`keeps its state from one opening to the next, with logs of at least ${logBytesMin} bytes`, async () => {
      const root = temporaryDirectory();
      try {
        const fileSystem = new NodeFileSystem();
        const clock = new ManualClock(1_000_000);
        const options = { directory: join(root.path, 'manifest'), clock, logBytesMin };
        for (const step of EVENTFUL) {
          const coordinator = await openOver(fileSystem, options);
          const reader = await openOver(fileSystem, { ...options, readOnly: true });
          await step(coordinator, clock);
          await reader.refresh();
          const state = await dump(coordinator);
          assert.deepEqual(await dump(reader), state);
          await reader.close();
          await coordinator.close();
          const reopened = await openOver(fileSystem, options);
          assert.deepEqual(await dump(reopened), state);
          await reopened.close();
        }
        assert.equal(fileSystem.listSync(options.directory).length, 4);
      } finally {
        root.remove();
      }
    });
  }
});
