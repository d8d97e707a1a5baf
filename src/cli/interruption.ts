/** Ctrl-C and SIGTERM as a request to finish: the second one ends the process at once. */
import { constants } from 'node:os';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
/** What shells report for a process that a signal ended. */
const SIGNAL_EXIT_BASE = 128;

/** Runs `work` with a signal that is aborted, with the name of the signal as its reason, when the user asks to stop. */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const interrupt = (name: NodeJS.Signals): void => {
    if (controller.signal.aborted) process.exit(SIGNAL_EXIT_BASE + constants.signals[name]);
    controller.abort(name);
  };
  for (const name of SIGNALS) process.on(name, interrupt);
  try {
    return await work(controller.signal);
  } finally {
    for (const name of SIGNALS) process.off(name, interrupt);
  }
}
