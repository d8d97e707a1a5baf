import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { Floor } from '../../bench/floor.ts';
import { recordPool } from '../../src/cli/load/records.ts';
import { MIB } from '../../src/limits/limits.ts';

const dir = mkdtempSync(join(tmpdir(), 'millrace-bench-floor-'));
after(() => {
  rmSync(dir, { recursive: true });
});

suite('the floor', () => {
  test('leaves the records themselves on the disk, and its file as large as it was', () => {
    const pool = recordPool(1_024);
    const floor = new Floor(dir);
    // The first MiB is where the file begins again.
    floor.burst(pool, 1_024);
    const groups = floor.groups(pool, 2, 3);
    floor.close();
    assert.equal(groups.length, 3);
    const file = readFileSync(join(dir, 'floor'));
    assert.equal(file.length, 128 * MIB);
    assert.deepEqual(file.subarray(0, MIB), Buffer.concat(pool.slice(0, 1_024)));
    assert.deepEqual(file.subarray(MIB, MIB + 2_048), Buffer.concat(pool.slice(0, 2)));
  });
});
