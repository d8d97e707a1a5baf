/** One stream: what it holds, who reads it, and its records, a page at a time. */
import { getJson, getLines, Problem } from './api.js';
import { byId, setPairs, setRows, setText, element } from './dom.js';
import { bytes, count, plural, span, time } from './format.js';
import { recordRow } from './records.js';

const PAGE = 25;
/** Bytes of a key or value that are asked for: more is told of, not shown. */
const PREVIEW_BYTES = 4_096;

export class StreamView {
  name = '';
  #shown;
  #info;
  /** Offset that the page begins at; `undefined`: the newest records. */
  #from;
  /** What is on the page, so that nothing is drawn again that has not changed. */
  #drawn = '';

  constructor() {
    byId('browse').addEventListener('submit', (event) => {
      event.preventDefault();
      const text = byId('from').value.trim();
      this.#go(text === '' ? undefined : text);
    });
    byId('oldest').addEventListener('click', () => this.#go(this.#info?.firstOffset));
    byId('newest').addEventListener('click', () => this.#go(undefined));
    byId('older').addEventListener('click', () => this.#step(-PAGE));
    byId('newer').addEventListener('click', () => this.#step(PAGE));
    byId('tail').addEventListener('change', () => this.#go(undefined));
    byId('view').addEventListener('change', () => this.#go(this.#from));
  }

  enter() {
    if (this.#shown === this.name) return;
    this.#shown = this.name;
    this.#from = undefined;
    this.#info = undefined;
    this.#drawn = '';
    byId('tail').checked = false;
    byId('from').value = '';
    byId('records').replaceChildren();
    byId('consumers').replaceChildren();
    byId('about').replaceChildren();
    delete byId('about').dataset.names;
    setText(byId('stream-name'), this.name);
  }

  get #path() {
    return `/v1/streams/${encodeURIComponent(this.name)}`;
  }

  async refresh(isCurrent) {
    const info = await getJson(this.#path);
    if (!isCurrent()) return;
    this.#info = info;
    drawAbout(info);
    drawConsumers(info.consumers);
    await this.#refreshRecords(isCurrent);
    if (isCurrent()) this.#drawButtons();
  }

  #go(from) {
    this.#from = from;
    this.#drawn = '';
    if (from !== undefined) byId('tail').checked = false;
    document.dispatchEvent(new Event('refresh'));
  }

  #step(by) {
    const first = Number(byId('records').firstElementChild?.dataset.key ?? this.#info?.firstOffset ?? 0);
    const last = Number(byId('records').lastElementChild?.dataset.key ?? first - 1);
    const { firstOffset = 0, durableOffset = 0 } = this.#info ?? {};
    if (by > 0 && last + 1 >= durableOffset) this.#go(undefined);
    else this.#go(by > 0 ? last + 1 : Math.max(firstOffset, first + by));
  }

  /** Whether there is more in either direction, also when the page itself has not changed. */
  #drawButtons() {
    const { firstOffset, durableOffset } = this.#info;
    const { firstElementChild: first, lastElementChild: last } = byId('records');
    byId('older').disabled = Number(first?.dataset.key ?? firstOffset) <= firstOffset;
    byId('newer').disabled = Number(last?.dataset.key ?? durableOffset) >= durableOffset - 1;
  }

  async #refreshRecords(isCurrent) {
    const { firstOffset, durableOffset } = this.#info;
    const from = this.#from ?? Math.max(firstOffset, durableOffset - PAGE);
    // Records do not change; only which of them are the newest does.
    const view = byId('view').value;
    const wanted = `${from} ${view} ${firstOffset}`;
    const isTail = byId('tail').checked;
    if (this.#drawn !== '' && (!isTail || this.#drawn === wanted)) return;
    const notice = byId('records-notice');
    try {
      const query = new URLSearchParams({
        from,
        limit: String(PAGE),
        preview: String(PREVIEW_BYTES),
        onTrimmed: 'skip',
      });
      const records = await getLines(`${this.#path}/records?${query}`);
      if (!isCurrent()) return;
      this.#drawn = wanted;
      notice.hidden = true;
      byId('records-empty').hidden = records.length > 0;
      if (document.activeElement !== byId('from')) byId('from').value = String(records[0]?.offset ?? '');
      const key = ({ offset }) => offset;
      if (byId('records').dataset.view !== view) byId('records').replaceChildren();
      byId('records').dataset.view = view;
      setRows(
        byId('records'),
        records,
        key,
        (record) => recordRow(record, view, this.#path),
        () => undefined,
      );
    } catch (error) {
      if (!(error instanceof Problem) || error.status === 404) throw error;
      notice.hidden = false;
      this.#drawn = wanted;
      setText(notice, error.message);
    }
  }
}

function drawAbout(info) {
  const { compression, cleanup, retention, deletionDeadline } = info.config;
  const { maxBytes, maxAge } = retention;
  const limits = [
    ...(maxBytes === undefined ? [] : [bytes(maxBytes)]),
    ...(maxAge === undefined ? [] : [span(maxAge)]),
  ];
  setPairs(byId('about'), [
    ['Records', count(info.records)],
    ['Offsets', info.nextOffset === 0 ? 'none' : `${count(info.firstOffset)} to ${count(info.nextOffset - 1)}`],
    ['Size', bytes(info.userBytes)],
    ['Stored', `${bytes(info.storedBytes)} in ${plural(info.segments, 'segment')}`],
    ['Tracking', bytes(info.trackingBytes)],
    ['Cleanup', cleanup === 'compact' ? 'latest record of each key' : 'by retention'],
    ['Retention', limits.length === 0 ? 'unlimited' : limits.join(', ')],
    ['Compression', compression],
    ...(deletionDeadline === undefined ? [] : [['Deletion deadline', span(deletionDeadline)]]),
    ...(info.lastTimestamp === undefined ? [] : [['Newest in segments', `${time(info.lastTimestamp)} UTC`]]),
  ]);
}

function drawConsumers(consumers) {
  byId('consumers-empty').hidden = consumers.length > 0;
  const make = ({ reference }) => {
    const number = () => element('td', { class: 'number' });
    return element('tr', {}, element('th', { scope: 'row' }, reference), number(), number());
  };
  setRows(
    byId('consumers'),
    consumers,
    ({ reference }) => reference,
    make,
    (row, { offset, lag }) => {
      setText(row.children[1], count(offset));
      setText(row.children[2], count(lag));
    },
  );
}
