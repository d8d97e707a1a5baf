/** A thread that sends a share of the records, through a producer of its own. Runs in the load worker. */
import { attachProducer } from '../../store/producers/guest.ts';
import { Schedule } from './profile.ts';
import { Sender } from './sender.ts';
import { targetsOf } from './targets.ts';
import type { LoadOrder, LoadReply, LoadThreadData } from './thread-messages.ts';

export interface LoadThreadPort {
  onOrder(listener: (order: LoadOrder) => void): void;
  send(reply: LoadReply): void;
}

/** Packing histograms takes a millisecond. */
const COUNTS_INTERVAL = 200;

export async function runLoadThread(data: LoadThreadData, port: LoadThreadPort): Promise<void> {
  const { handle, streams, producers, settings } = data;
  const producer = await attachProducer(handle);
  const opened = await Promise.all(streams.map((name) => producer.stream(name)));
  const targets = await targetsOf(opened, producers);
  let controller = new AbortController();
  port.onOrder((order) => {
    if (order.type === 'stop') {
      controller.abort();
      return;
    }
    controller = new AbortController();
    const sender = new Sender({ schedule: new Schedule(order.segments), targets, ...settings });
    const timer = setInterval(() => {
      sendCounts(sender, port);
    }, COUNTS_INTERVAL);
    void sender.run(order.start, controller.signal).then(() => {
      clearInterval(timer);
      sendCounts(sender, port);
      port.send({ type: 'done' });
    });
  });
  port.send({ type: 'ready' });
}

function sendCounts(sender: Sender, port: LoadThreadPort): void {
  const { sent, acknowledged, failed, latency, lateness } = sender.takeCounts();
  port.send({
    type: 'counts',
    sent,
    acknowledged,
    failed: [...failed],
    latency: latency.pack(),
    lateness: lateness.pack(),
    inFlight: sender.inFlight,
    unsent: sender.unsent,
  });
}
