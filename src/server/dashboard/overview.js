/** The store as a whole: what comes in, how fast it is durable, what is on disk, and the list of streams. */
import { getJson } from './api.js';
import { Chart } from './chart.js';
import { byId, element, setBar, setPairs, setRows, setText } from './dom.js';
import { bytes, compact, count, duration, plural, span } from './format.js';
import { StreamList } from './streams.js';

const SAMPLES_MAX = 300;
const JOB_NAMES = { merge: 'merges', rewrite: 'rewrites', keyCompaction: 'key', chunkCompaction: 'chunk' };

export class Overview {
  #samples = [];
  #uptime = 0;
  #latest;
  #ingest = new Chart(byId('ingest-chart'), {
    label: 'Records appended a second',
    series: [{ key: 'rate', name: '', tone: 'one', isArea: true }],
    format: (value) => `${compact(value)}/s`,
    least: 10,
  });
  #latency = new Chart(byId('latency-chart'), {
    label: 'Time until an append was durable',
    series: [
      { key: 'p99', name: 'p99', tone: 'two' },
      { key: 'p50', name: 'p50', tone: 'one' },
    ],
    format: duration,
    least: 2,
  });
  #streams = new StreamList();

  enter() {
    this.#streams.reset();
  }

  /** State and facts, which every view shows. */
  async refreshHead(setState) {
    const overview = await getJson(`/v1/overview?since=${this.#samples.at(-1)?.sequence ?? 0}`);
    // A server that was started anew counts from the beginning.
    if (overview.uptime < this.#uptime) this.#samples = [];
    this.#uptime = overview.uptime;
    this.#samples = [...this.#samples, ...overview.samples].slice(-SAMPLES_MAX);
    this.#latest = overview;
    const { version, isReadOnly, uptime, wal, objects } = overview;
    setText(byId('facts'), `${version} · up ${span(uptime)} · ${plural(objects.streams, 'stream')}`);
    if (wal?.failure !== undefined) setState('failed', `Appends refused: ${wal.failure}`);
    else if (isReadOnly) setState('read', 'Live, read-only');
    else setState('live', 'Live');
  }

  async refresh(isCurrent) {
    this.#draw(this.#latest);
    await this.#streams.refresh(isCurrent);
  }

  #draw(overview) {
    const points = this.#samples.map((sample) => ({ ...sample, rate: (sample.records / sample.interval) * 1_000 }));
    this.#ingest.set(points);
    this.#latency.set(points);
    const last = points.at(-1);
    setText(byId('ingest-rate'), last === undefined ? '–' : compact(last.rate));
    setText(byId('ingest-bytes'), last === undefined ? '–' : bytes((last.userBytes / last.interval) * 1_000));
    setText(byId('latency-p50'), duration(last?.p50));
    setText(byId('latency-p99'), duration(last?.p99));
    drawRing(overview);
    drawDisk(overview);
    drawGenerations(overview.generations);
    drawCompaction(overview);
  }
}

function drawRing({ ring, wal, flush, isReadOnly }) {
  byId('slots').hidden = ring === undefined;
  if (ring === undefined) {
    setPairs(byId('ring'), [['Ring', isReadOnly ? 'of the process that writes' : 'none']]);
    return;
  }
  const slots = byId('slots');
  while (slots.children.length > ring.slots) slots.lastElementChild.remove();
  while (slots.children.length < ring.slots) slots.append(element('i'));
  [...slots.children].forEach((slot, index) => {
    slot.dataset.tone = index < ring.slotsInUse ? 'one' : 'none';
  });
  const isFull = ring.queuedBytes > 0;
  setPairs(byId('ring'), [
    ['Slots in use', `${ring.slotsInUse} of ${ring.slots}`, ring.slotsInUse === ring.slots ? 'warn' : undefined],
    ['Slot', bytes(ring.slotBytes)],
    ['Waiting for room', isFull ? bytes(ring.queuedBytes) : 'nothing', isFull ? 'warn' : undefined],
    ['Log writes', wal === undefined ? 'no log' : wal.mode],
    ['Flushes', `${flush.running} running, ${flush.waiting} waiting`],
    ['Flushed', flush.records === 1 ? '1 record' : `${compact(flush.records)} records`],
  ]);
}

function drawDisk({ objects, ring, wal }) {
  const log = ring === undefined || wal === undefined ? 0 : ring.slots * ring.slotBytes;
  const dead = Math.max(0, objects.committedBytes - objects.liveBytes);
  const total = objects.committedBytes + objects.deletingBytes + log;
  const share = (value) => (total === 0 ? 0 : value / total);
  setBar(byId('disk-bar'), [
    { share: share(objects.liveBytes), tone: 'one' },
    { share: share(dead), tone: 'two' },
    { share: share(objects.deletingBytes), tone: 'three' },
    { share: share(log), tone: 'none' },
  ]);
  setPairs(byId('disk'), [
    ['Live', bytes(objects.liveBytes), 'one'],
    ['Dead, until rewritten', bytes(dead), 'two'],
    ['To be deleted', bytes(objects.deletingBytes), 'three'],
    ...(log === 0 ? [] : [['Log, preallocated', bytes(log), 'none']]),
    ['Total', bytes(total)],
  ]);
}

function drawGenerations(generations) {
  const rows = generations.length > 0 ? generations : [{ generation: 0, objects: 0, bytes: 0, liveBytes: 0 }];
  const make = () => {
    const number = () => element('td', { class: 'number' });
    return element('tr', {}, element('th', { scope: 'row' }), number(), number(), number());
  };
  setRows(
    byId('generations'),
    rows,
    ({ generation }) => generation,
    make,
    (row, item) => {
      const live = item.bytes === 0 ? '–' : `${Math.round((item.liveBytes / item.bytes) * 100)} %`;
      const named = item.isCompacted ? 'Latest by key' : `${item.generation}${item.generation === 1 ? ', merged' : ''}`;
      const name = item.generation === 0 ? '0, appended' : named;
      [name, count(item.objects), bytes(item.bytes), live].forEach((text, index) => setText(row.children[index], text));
    },
  );
}

function drawCompaction({ compaction, objects }) {
  if (compaction === undefined) {
    setPairs(byId('compaction'), [['Jobs under way', count(objects.jobs)]]);
    return;
  }
  const { jobs, running, paused, readBytes, writtenBytes, recordsDropped, failures, lastError } = compaction;
  const done = Object.entries(jobs).filter(([, number]) => number > 0);
  setPairs(byId('compaction'), [
    ['State', paused ? 'paused' : running > 0 ? plural(running, 'job') : 'idle', paused ? 'warn' : undefined],
    ['Done', done.map(([kind, number]) => `${count(number)} ${JOB_NAMES[kind] ?? kind}`).join(', ') || 'nothing yet'],
    ['Read', bytes(readBytes)],
    ['Written', bytes(writtenBytes)],
    ['Records left out', count(recordsDropped)],
    ['Failures', failures === 0 ? 'none' : `${count(failures)}, ${lastError}`, failures > 0 ? 'warn' : undefined],
  ]);
}
