/** Bytes that claim far more than they hold: refused, and nothing of the claimed size is allocated on the way. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, suite, test } from 'node:test';
import { viewOf, writeUint64 } from '../../src/base/bytes.ts';
import { loadChecksum, xxh64 } from '../../src/codec/checksum.ts';
import { CODEC, compress, decompress } from '../../src/codec/compression.ts';
import { ByteWriter } from '../../src/coordinator/manifest/byte-writer.ts';
import { readBatch } from '../../src/coordinator/manifest/log-reader.ts';
import { open } from '../../src/index.ts';
import { CHUNK_RAW_BYTES_MAX } from '../../src/limits/limits.ts';
import { SLOT_CHECKED_BYTES } from '../../src/wal/slot-format.ts';
import { copyGolden, filesBelow, readBytes } from '../golden/fixtures.ts';
import { coded } from '../support/test-store.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const MIB = 1024 * 1024;
const GROWTH_MAX = 128 * MIB;
const MANY = 2 ** 40;

/** Runs `act`, and holds that the process never became much larger than it was. */
async function withoutGrowing(act: () => unknown): Promise<void> {
  const before = process.resourceUsage().maxRSS;
  await act();
  const grown = 1024 * (process.resourceUsage().maxRSS - before);
  assert.ok(grown < GROWTH_MAX, `the process grew by ${grown} bytes`);
}

suite('a claim', () => {
  before(loadChecksum);

  test('of 4 GiB in an LZ4 block is refused, and so is one that the block could never fill', async () => {
    const bomb = compress(CODEC.lz4, new Uint8Array(16 * MIB)).slice();
    await withoutGrowing(() => {
      const corrupt = coded('ERR_MILLRACE_SEGMENT_CORRUPT');
      for (const claimed of [2 ** 32 - 8, 2 ** 32, MANY, CHUNK_RAW_BYTES_MAX + 1, NaN, -1]) {
        assert.throws(() => decompress(CODEC.lz4, bomb, claimed), corrupt, String(claimed));
      }
      assert.throws(() => decompress(CODEC.lz4, bomb.subarray(0, 1024), CHUNK_RAW_BYTES_MAX), corrupt);
    });
  });

  test('of less than an LZ4 block expands to is refused without expanding all of it', async () => {
    const bomb = compress(CODEC.lz4, new Uint8Array(256 * MIB)).slice();
    assert.ok(bomb.length < 2 * MIB, 'two hundred times as large as it looks');
    await withoutGrowing(() => {
      assert.throws(() => decompress(CODEC.lz4, bomb, MIB), coded('ERR_MILLRACE_SEGMENT_CORRUPT'));
    });
  });

  test('of 2^40 entries in an event of the manifest is refused', async () => {
    /** Each event up to its first count. */
    const events: readonly ((writer: ByteWriter) => void)[] = [
      (writer) => {
        for (const value of [7, 1, 4_096]) writer.unsigned(value);
        writer.checksum('0123456789abcdef');
        writer.unsigned(0);
        writer.byte(0);
      },
      // Keys that were reserved: each would become a row.
      (writer) => {
        writer.unsigned(6);
        writer.unsigned(1);
      },
      ...[8, 9, 15].map((tag) => (writer: ByteWriter) => {
        writer.unsigned(tag);
      }),
      ...[14, 16, 17].map((tag) => (writer: ByteWriter) => {
        writer.unsigned(tag);
        writer.unsigned(1);
      }),
    ];
    await withoutGrowing(() => {
      for (const event of events) {
        for (const count of [MANY, 2 ** 32, 2 ** 31, 100_001]) {
          const writer = new ByteWriter();
          writer.unsigned(1);
          event(writer);
          writer.unsigned(count);
          const payload = writer.take(0).slice();
          assert.throws(() => readBatch(payload), { name: 'PayloadError' }, `${count} in event ${payload[1] ?? 0}`);
        }
      }
    });
  });

  test('of a ring of 2 GiB in the headers of small slot files is refused', async (t) => {
    const directory = temporaryDirectory();
    t.after(() => directory.remove());
    const dir = join(directory.path, 'store');
    copyGolden('killed', dir);
    for (const name of filesBelow(join(dir, 'wal'))) {
      const bytes = readBytes(join(dir, 'wal', name));
      const view = viewOf(bytes);
      view.setUint32(12, 4, true);
      writeUint64(view, 16, 512 * MIB);
      view.setBigUint64(SLOT_CHECKED_BYTES, xxh64(bytes.subarray(0, SLOT_CHECKED_BYTES)), true);
      writeFileSync(join(dir, 'wal', name), bytes);
    }
    await withoutGrowing(() => assert.rejects(open(dir), coded('ERR_MILLRACE_WAL_CORRUPT', 'slot-000')));
  });
});
