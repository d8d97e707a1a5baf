/** The S3 store against a real server: one server for all suites, started here and stopped at the end. */
import { after, before, describe, test } from 'node:test';
import { objectStoreContract } from '../../../src/testing/object-store-contract.ts';
import { installCeph, startCeph, type S3Server } from '../../support/ceph-server.ts';
import { s3BackupSuite } from './backup.suite.ts';
import { s3DamageSuite } from './damage.suite.ts';
import { s3FaultSuite } from './faults.suite.ts';
import { s3PermissionSuite } from './permissions.suite.ts';
import { s3RefusalSuite } from './refusals.suite.ts';
import { BUCKET, freshStore } from './s3-fixture.ts';
import { s3SecretSuite } from './secrets.suite.ts';
import { s3WritingSuite } from './writing.suite.ts';

const obstacle = await installCeph();
if (obstacle !== undefined) {
  console.log(`the tests of the S3 store against a real server are skipped: ${obstacle}`);
  test('the S3 store against a real server', { skip: obstacle }, () => undefined);
} else {
  describe('S3 over Ceph', () => {
    let started: S3Server | undefined;
    const server = (): S3Server => {
      if (started === undefined) throw new Error('the server runs while its tests do');
      return started;
    };
    before(async () => {
      started = await startCeph();
      await started.createBucket(BUCKET);
    });
    after(() => started?.stop());

    for (const [name, options] of Object.entries({ S3: {}, 'S3 without conditions': { conditionalWrites: false } })) {
      objectStoreContract(name, async () => {
        const store = freshStore(server(), options);
        return { store, dispose: () => store.close() };
      });
    }
    s3WritingSuite(server);
    s3FaultSuite(server);
    s3RefusalSuite(server);
    s3BackupSuite(server);
    s3DamageSuite(server);
    s3SecretSuite(server);
    s3PermissionSuite(server);
  });
}
