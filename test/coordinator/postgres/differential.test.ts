/** PostgreSQL and the embedded coordinator give the same answers to the same random history. */
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { ManualClock } from '../../../src/base/clock.ts';
import { SeededRandom } from '../../../src/base/random.ts';
import { openEmbeddedCoordinator } from '../../../src/coordinator/embedded-coordinator.ts';
import { BENCH_START, BENCH_TIMES } from '../../../src/testing/coordinator/bench.ts';
import { Moves, moves } from '../../support/coordinator-moves.ts';
import { CoordinatorPair } from '../../support/coordinator-pair.ts';
import { SimulatedDisk } from '../../../src/testing/disk/simulated-disk.ts';
import { findPostgres, PostgresServer } from '../../support/postgres-server.ts';
import { openForContract } from '../../support/postgres-coordinators.ts';

const HISTORIES = 10;
/** Moves between two comparisons of everything. */
const COMPARE_EVERY = 12;

const postgres = await findPostgres();
const skip = 'missing' in postgres ? postgres.missing : false;

describe('PostgreSQL and the embedded coordinator', { skip }, () => {
  let server: PostgresServer;
  before(async () => {
    if ('bin' in postgres) server = await PostgresServer.start(postgres.bin);
  });
  after(() => server.stop());

  test('answer the same to every move of a random history', async () => {
    const property = fc.asyncProperty(moves, async (history) => {
      const clock = new ManualClock(BENCH_START);
      const opened = await openForContract(server, clock, BENCH_TIMES, new SeededRandom(1));
      const embedded = await openEmbeddedCoordinator({
        fileSystem: new SimulatedDisk(),
        directory: '/manifest',
        storeId: new Uint8Array(16),
        clock,
        random: new SeededRandom(1),
        times: BENCH_TIMES,
      });
      try {
        const world = new Moves(new CoordinatorPair(embedded, opened.coordinator), clock);
        await world.begin();
        for (const [index, move] of history.entries()) {
          await world.make(move);
          if (index % COMPARE_EVERY === 0) await world.compareAll();
        }
        await world.compareAll();
      } finally {
        await embedded.close();
        await opened.dispose();
      }
    });
    await fc.assert(property, { numRuns: HISTORIES, includeErrorInReport: true });
  });
});
