/** The page `docs/formats/manifest.md` is a promise to strangers: its tables and example are held against the code. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, suite, test } from 'node:test';
import { ManualClock } from '../../src/base/clock.ts';
import type { Random } from '../../src/base/random.ts';
import { loadChecksum } from '../../src/codec/checksum.ts';
import { ByteReader } from '../../src/coordinator/manifest/byte-reader.ts';
import { ByteWriter } from '../../src/coordinator/manifest/byte-writer.ts';
import { stateEvent } from '../../src/coordinator/manifest/event-codec.ts';
import { BLOCK_FIELD } from '../../src/coordinator/manifest/format.ts';
import { readBatch } from '../../src/coordinator/manifest/log-reader.ts';
import { snapshotRow } from '../../src/coordinator/manifest/snapshot-rows.ts';
import { EVERYTHING, sampleRun } from '../../src/testing/coordinator/samples.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import { DIRECTORY, openOver, STORE_ID } from './fixture.ts';

// Tests run from `dist/test/coordinator`.
const PAGE = readFileSync(new URL('../../../docs/formats/manifest.md', import.meta.url), 'utf8');
const START = 1_700_000_000_000;
const STEADY: Random = { uint32: () => 0, below: () => 0, bytes: (length) => new Uint8Array(length).fill(0xab) };

/** The files that the page shows, by name. */
function shownFiles(): Map<string, Buffer> {
  const files = new Map<string, Buffer>();
  for (const [, name, dump] of PAGE.matchAll(/```hexdump (\S+)\n([^`]*)```/g)) {
    const lines = dump!.trimEnd().split('\n');
    const bytes = lines.flatMap((line, index) => {
      const [position, ...values] = line.split(/ +/);
      assert.equal(Number.parseInt(position!, 16), index * 16);
      return values.map((value) => Number.parseInt(value, 16));
    });
    files.set(name!, Buffer.from(bytes));
  }
  return files;
}

/** Rows of the table whose header row starts so, cell by cell. */
function tableOf(header: string): string[][] {
  const from = PAGE.indexOf(header);
  assert.ok(from >= 0, `a table ${header}`);
  const [table] = PAGE.slice(from).split('\n\n');
  return table!
    .split('\n')
    .slice(2)
    .map((line) =>
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

const WORDS: Readonly<Record<string, string>> = { bytes: 'payloadBytes' };

suite('the manifest page', () => {
  before(() => loadChecksum());

  test('the writer produces the bytes that the page shows', async () => {
    const disk = new SimulatedDisk({ directories: ['/store'] });
    const clock = new ManualClock(START);
    const coordinator = await openOver(disk, { clock, random: STEADY, times: {} });
    await coordinator.createStream('orders', {
      compression: 'lz4',
      retention: { maxAge: 86_400_000 },
      cleanup: 'delete',
    });
    clock.advance(5);
    const { keys } = await coordinator.reserveObjects(1);
    clock.advance(20);
    const times = { firstTimestamp: START + 10, lastTimestamp: START + 12 };
    const run = sampleRun(1, 0, 3, { ...times, userBytes: 300, byteOffset: 64, byteLength: 440 });
    await coordinator.commitObject({
      key: keys[0]!,
      bytes: 4096,
      checksum: '0123456789abcdef',
      runs: [run],
      wal: { lane: 0, slotSequence: 1, blockSequence: 9 },
    });
    const shown = shownFiles();
    assert.equal(shown.size, 4);
    const assertShown = (name: string): void => {
      assert.deepEqual(Buffer.from(disk.contentOf(`${DIRECTORY}/${name}`)), shown.get(name), name);
    };
    for (const name of shown.keys()) if (name !== 'LAST-CLOSE') assertShown(name);
    await coordinator.close();
    assertShown('LAST-CLOSE');
  });

  test('the bytes that the page shows are read as the page says', async () => {
    const disk = new SimulatedDisk({ directories: ['/store'] });
    for (const [name, bytes] of shownFiles()) disk.put(`${DIRECTORY}/${name}`, bytes);
    const coordinator = await openOver(disk, { storeId: STORE_ID, readOnly: true });
    assert.deepEqual(await coordinator.streams(), [
      {
        streamId: 1,
        name: 'orders',
        config: { compression: 'lz4', retention: { maxAge: 86_400_000 }, cleanup: 'delete' },
      },
    ]);
    const { runs } = await coordinator.findRuns(1, 0, EVERYTHING);
    assert.equal(runs[0]!.objectKey, 'segments/0000000000000001-abababababab.seg');
    assert.deepEqual([runs[0]!.records, runs[0]!.userBytes, runs[0]!.firstTimestamp], [3, 300, START + 10]);
    assert.deepEqual(await coordinator.flushedSlots(), [{ lane: 0, slotSequence: 1, blockSequence: 9 }]);
    await coordinator.close();
  });

  test('the blocks begin where the page says, and hold what it says', () => {
    const log = shownFiles().get('0000000000000001.log')!;
    const starts = [...PAGE.matchAll(/^- `0x([0-9a-f]+)` (?:(\d+) bytes)?/gm)].map(([, position, payload]) => ({
      position: Number.parseInt(position!, 16),
      payload: Number(payload ?? 1),
    }));
    const kinds = starts.map(({ position, payload }) => {
      assert.equal(log.readUInt32LE(position + BLOCK_FIELD.payloadBytes), payload);
      const { events } = readBatch(log.subarray(position + 64, position + 64 + payload));
      return events.map(({ type }) => type).join();
    });
    assert.deepEqual(kinds, ['', 'streamCreated', 'objectsReserved', 'objectCommitted']);
  });

  test('header fields lie where the table says', () => {
    const positions = tableOf('| at | bytes | field | |').map(([at, , field]) => {
      const [first, ...rest] = field!.split(' ');
      const name = first! + rest.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('');
      return [WORDS[name] ?? name, Number(at)];
    });
    assert.deepEqual(Object.fromEntries(positions), BLOCK_FIELD);
  });

  for (const [header, codec, count] of [
    ['| tag | row | fields |', snapshotRow, 10],
    ['| tag | event | fields |', stateEvent, 17],
  ] as const) {
    test(`every tag of the table ${header} is known, and no other`, () => {
      const tags = tableOf(header).map(([tag]) => Number(tag));
      assert.deepEqual(
        tags,
        Array.from({ length: count }, (_, index) => index + 1),
      );
      for (let tag = 0; tag < 256; tag += 1) {
        const unknown = (): unknown => codec.read(new ByteReader(Uint8Array.of(tag)));
        assert.throws(unknown, tags.includes(tag) ? /ends behind its block/ : /is unknown/);
      }
    });
  }

  test('tags mean what the table says', () => {
    const tagOf = (type: string): number => {
      const writer = new ByteWriter();
      try {
        stateEvent.write(writer, { type } as never);
      } catch {
        // The fields are missing; the tag comes first.
      }
      return writer.take(0)[0]!;
    };
    for (const [tag, name] of tableOf('| tag | event | fields |')) {
      const [first, ...rest] = name!.split(' ');
      const type = first! + rest.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('');
      assert.equal(tagOf(type), Number(tag), type);
    }
  });
});
