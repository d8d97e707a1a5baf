/** Processor time of a peer: of this process, and of its server where it has one. */
import type { PeerLog } from './peer.ts';

/** Seconds so far; `NaN` where the system tells nothing of the server. */
export function processorSeconds({ server }: Pick<PeerLog, 'server'>): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6 + (server?.processorSeconds() ?? 0);
}
