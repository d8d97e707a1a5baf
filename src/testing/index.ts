/**
 * Entry of `millrace/testing`: a disk that loses power and fails on demand, for tests of what is built on millrace.
 */
export { type DiskCall, type DiskFault, type DiskOperation, systemError } from './disk/calls.ts';
export { randomSurvival, type Survival, survivingPages } from './disk/power-loss.ts';
export { type DiskSnapshot, SimulatedDisk, type SimulatedDiskOptions } from './disk/simulated-disk.ts';
