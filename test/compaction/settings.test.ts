/** Options of compaction: defaults, ranges, and the relations between them. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { COMPACTION_OPTIONS, type CompactionSettings, compactionSettings } from '../../src/compaction/settings.ts';
import { coded } from '../support/test-store.ts';

const refused = (options: Record<string, unknown>, ...mentions: (string | RegExp)[]): void => {
  assert.throws(() => compactionSettings(options), coded('ERR_MILLRACE_INVALID_ARGUMENT', ...mentions));
};

suite('compaction settings', () => {
  test('have the documented defaults', () => {
    const { minFirstGenerationAge, maxFirstGenerationAge, targetBytes, maxBytes, dirtyRatio, maxAge } =
      compactionSettings();
    assert.deepEqual([minFirstGenerationAge, maxFirstGenerationAge], [900_000, 1_800_000]);
    assert.deepEqual([targetBytes, maxBytes], [104_857_600, 1_073_741_824]);
    assert.deepEqual([dirtyRatio, maxAge], [0.5, 30 * 86_400_000]);
    const { expiryBucket, tombstoneRetention, deleteGrace, lease, heartbeat } = compactionSettings();
    assert.deepEqual([expiryBucket, tombstoneRetention, deleteGrace], [86_400_000, 86_400_000, 60_000]);
    assert.deepEqual([lease, heartbeat], [60_000, 10_000]);
    const { maxConcurrentJobs, bytesPerSecond, minInputs, maxInputs, maxFirstGenerationInputs } = compactionSettings();
    assert.deepEqual([maxConcurrentJobs, bytesPerSecond], [2, Infinity]);
    assert.deepEqual([minInputs, maxInputs, maxFirstGenerationInputs], [4, 8, 64]);
    assert.equal(compactionSettings().maxGenerations, 2);
  });

  test('keep what is given', () => {
    assert.equal(compactionSettings({ dirtyRatio: 0.3 }).dirtyRatio, 0.3);
    assert.equal(compactionSettings({ minFirstGenerationAge: 0 }).minFirstGenerationAge, 0);
  });

  test('refuse what is out of range, for every option', () => {
    for (const name of Object.keys(COMPACTION_OPTIONS) as (keyof CompactionSettings)[]) {
      const { least, most, unit } = COMPACTION_OPTIONS[name];
      refused({ [name]: least - 1 }, `compaction.${name}`, unit);
      if (most !== Infinity) refused({ [name]: most + 1 }, `compaction.${name}`);
      for (const value of [NaN, '5', null, -Infinity]) refused({ [name]: value }, `compaction.${name}`);
      if (unit !== 'ratio') refused({ [name]: least + 0.5 }, `compaction.${name}`);
    }
  });

  test('refuse options that do not exist', () => refused({ targetByts: 5 }, 'compaction.targetByts'));

  test('refuse what contradicts itself, naming both options', () => {
    refused({ minFirstGenerationAge: 3_600_000 }, 'minFirstGenerationAge', 'maxFirstGenerationAge');
    refused({ maxBytes: 1_000_000 }, 'targetBytes', 'maxBytes');
    refused({ minInputs: 9 }, 'minInputs', 'maxInputs');
    refused({ lease: 15_000 }, 'heartbeat', 'lease');
    refused({ bytesPerSecond: 100_000 }, 'bytesPerSecond', 'maxBytes');
  });
});
