/**
 * Frees memory that nobody looks at any more, at once. The collector frees the memory of buffers too, but it looks
 * for some only once there are 32 MiB of them: a bound of the engine's own that no option moves. Node gives each read
 * of a socket 64 KiB, so that whoever reads a long answer holds that much beside what is in use.
 */
import { MessageChannel, type MessagePort } from 'node:worker_threads';

/** Its other end is closed: what is sent is nobody's any more. */
let nowhere: MessagePort | undefined;

/**
 * Frees the memory behind `bytes`, all of it: views of it have no length any more. What the first turn of the event
 * loop releases goes at its end. Memory that Node shares between small buffers, and what cannot be detached, stays.
 */
export function releaseMemory({ buffer }: Uint8Array): void {
  if (!(buffer instanceof ArrayBuffer)) return;
  nowhere ??= openNowhere();
  try {
    nowhere.postMessage(undefined, [buffer]);
  } catch {
    // It cannot be sent. The collector has it, as before.
  }
}

function openNowhere(): MessagePort {
  const { port1, port2 } = new MessageChannel();
  port2.close();
  return port1;
}
