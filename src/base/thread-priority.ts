/** The priority of a thread among those of the machine. */
import { readlinkSync } from 'node:fs';
import { basename } from 'node:path';
import { constants, getPriority, setPriority } from 'node:os';

/**
 * How far background threads step back. Nine tenths of a contended processor go to the others: with two processors an
 * append that meets a flush keeps its own, and the flush takes what the log leaves.
 */
const BACKGROUND_NICENESS = 10;

/**
 * Lets the calling thread step back behind the application and the WAL. Linux alone gives threads priorities of their
 * own; elsewhere nothing changes.
 */
export function yieldToForeground(): void {
  if (process.platform !== 'linux') return;
  try {
    // The link of a thread ends in its id, which the call takes like that of a process.
    const thread = Number(basename(readlinkSync('/proc/thread-self')));
    // Counted from where the process is: who was started with a low priority must not get ahead of itself.
    const niceness = getPriority(thread) + BACKGROUND_NICENESS;
    setPriority(thread, Math.min(niceness, constants.priority.PRIORITY_LOW));
  } catch {
    // A sandbox may hide /proc or forbid it: the priority is a courtesy, not a need.
  }
}
