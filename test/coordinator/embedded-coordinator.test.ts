import { SeededRandom } from '../../src/base/random.ts';
import { openEmbeddedCoordinator } from '../../src/coordinator/embedded-coordinator.ts';
import { coordinatorContract } from '../../src/testing/coordinator-contract.ts';
import { type OpenCoordinator, type OpenedCoordinator } from '../../src/testing/coordinator/bench.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';

const STORE_ID = new Uint8Array(16).fill(7);

/** Opens over memory; `logBytesMin` of 1 makes a snapshot of nearly every batch. */
function openWith(logBytesMin: number): OpenCoordinator {
  return async (clock, times) => {
    const fileSystem = new SimulatedDisk({ directories: ['/store'] });
    const random = new SeededRandom(1);
    const open = async (): Promise<OpenedCoordinator> => {
      const coordinator = await openEmbeddedCoordinator({
        fileSystem,
        directory: '/store/manifest',
        storeId: STORE_ID,
        clock,
        random,
        times,
        logBytesMin,
      });
      const reopen = async (): Promise<OpenedCoordinator> => {
        await coordinator.close();
        return open();
      };
      return { coordinator, reopen, dispose: () => coordinator.close() };
    };
    return open();
  };
}

coordinatorContract('embedded', openWith(4 * 1024 * 1024));
coordinatorContract('embedded, a snapshot after every batch', openWith(1));
