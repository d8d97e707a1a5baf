import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SeededRandom } from '../../src/base/random.ts';
import { STREAM_CONFIG_DEFAULT } from '../../src/record/stream-config.ts';
import { openEmbeddedCoordinator } from '../../src/coordinator/embedded-coordinator.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import { coordinatorBehind } from '../../src/testing/faulty-coordinator.ts';
import { SERVICE_FAULTS, type ServiceFault, UnreliableService } from '../../src/testing/unreliable-service.ts';

const UNAVAILABLE = { code: 'ERR_MILLRACE_UNAVAILABLE' };

/** How often a request is done, with one fault that always happens, before and after the late ones have come. */
async function timesDone(fault: ServiceFault): Promise<{ readonly before: number; readonly after: number }> {
  const late: (() => void)[] = [];
  const service = new UnreliableService(new SeededRandom(1), { [fault]: 1 }, (work) => late.push(work));
  let done = 0;
  const call = service.call(async () => (done += 1));
  if (fault === 'duplicated') assert.equal(await call, 1, 'the first answer counts');
  else await assert.rejects(call, UNAVAILABLE);
  const before = done;
  for (const work of late) work();
  assert.equal(service.injected[fault], 1);
  return { before, after: done };
}

describe('a way to a service that is not to be relied on', () => {
  const expected: Readonly<Record<ServiceFault, readonly [number, number]>> = {
    unavailable: [0, 0],
    throttled: [0, 0],
    lost: [0, 0],
    timeoutAfterSuccess: [1, 1],
    duplicated: [2, 2],
    late: [0, 1],
  };
  for (const fault of SERVICE_FAULTS) {
    it(`does a request that is ${fault} ${expected[fault].join(', and in the end ')} times`, async () => {
      const { before, after } = await timesDone(fault);
      assert.deepEqual([before, after], expected[fault]);
    });
  }

  it('neither doubles nor delays what is done once', async () => {
    const service = new UnreliableService(new SeededRandom(1), { duplicated: 1, late: 1 });
    let done = 0;
    await service.call(async () => (done += 1), true);
    assert.equal(done, 1);
  });

  it('lets nothing through once it is cut, nor any answer of what was under way', async () => {
    const service = new UnreliableService(new SeededRandom(1), {});
    let release = (): void => undefined;
    const underWay = service.call(() => new Promise<void>((resolve) => (release = resolve)));
    service.cut();
    release();
    await assert.rejects(underWay, UNAVAILABLE);
    await assert.rejects(
      service.call(async () => assert.fail('it is not done')),
      UNAVAILABLE,
    );
  });

  it('carries every call of a coordinator', async () => {
    const fileSystem = new SimulatedDisk();
    const coordinator = await openEmbeddedCoordinator({ fileSystem, directory: '/m', storeId: new Uint8Array(16) });
    const service = new UnreliableService(new SeededRandom(1), { timeoutAfterSuccess: 1 });
    const client = coordinatorBehind(coordinator, service);
    await assert.rejects(client.createStream('orders', STREAM_CONFIG_DEFAULT), UNAVAILABLE);
    service.setRates({});
    assert.equal((await client.findStream('orders'))?.name, 'orders');
    await client.close();
    assert.equal((await coordinator.streams()).length, 1, 'a client that closes leaves it open to others');
    await coordinator.close();
  });
});
