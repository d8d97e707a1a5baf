/**
 * Entry of `millrace/testing`, for tests of what is built on millrace and of what it is built on: a disk that loses
 * power and fails on demand, and the suites that every object store and coordinator passes. `fast-check`, an optional
 * peer, makes their random histories.
 */
export { type DiskCall, type DiskFault, type DiskOperation, systemError } from './disk/calls.ts';
export { randomSurvival, type Survival, survivingPages } from './disk/power-loss.ts';
export { type DiskSnapshot, SimulatedDisk, type SimulatedDiskOptions } from './disk/simulated-disk.ts';
export { coordinatorContract } from './coordinator-contract.ts';
export { BENCH_START, BENCH_TIMES, type OpenCoordinator, type OpenedCoordinator } from './coordinator/bench.ts';
export { type OpenedStore, objectStoreContract, patternBytes, putObject, withCode } from './object-store-contract.ts';
export { nodeTest, type TestFunctions } from './test-functions.ts';
export { ManualClock } from '../base/clock.ts';
export type { Coordinator, CoordinatorTimes } from '../coordinator/coordinator.ts';
export type { ObjectStore } from '../object/object-store.ts';
export type { Schedule } from './in-process-wal.ts';
export { RingSupply, SimulatedEnvironment, type SimulatedEnvironmentOptions } from './simulated-environment.ts';
export { SimulatedTime } from './simulated-time.ts';
export { openIn } from '../store/open.ts';
export { coordinatorBehind } from './faulty-coordinator.ts';
export { FaultyObjectStore, type ObjectFault } from './faulty-object-store.ts';
export { type FaultRates, SERVICE_FAULTS, type ServiceFault, UnreliableService } from './unreliable-service.ts';
