/** The list of streams, a page at a time, with the lag of their consumers. */
import { getJson } from './api.js';
import { byId, element, setRows, setText } from './dom.js';
import { bytes, compact, count, plural } from './format.js';

const PAGE = 50;
const CONSUMERS_SHOWN = 4;
const LABELS = ['records', 'records/s', 'size', 'stored'];

export const addressOf = (name) => `#/streams/${encodeURIComponent(name)}`;

export class StreamList {
  #after = '';
  #contains = '';
  #next;
  /** Next offset and time of the last look at each stream, for rates. */
  #seen = new Map();

  constructor() {
    let timer;
    byId('filter').addEventListener('input', () => {
      clearTimeout(timer);
      timer = setTimeout(() => this.#turn('', byId('filter').value.trim()), 150);
    });
    byId('streams-first').addEventListener('click', () => this.#turn('', this.#contains));
    byId('streams-next').addEventListener('click', () => this.#turn(this.#next ?? '', this.#contains));
  }

  #turn(after, contains) {
    this.#after = after;
    this.#contains = contains;
    document.dispatchEvent(new Event('refresh'));
  }

  /** What was seen a while ago says nothing of the rate now. */
  reset() {
    this.#seen.clear();
  }

  async refresh(isCurrent) {
    const query = new URLSearchParams({ details: 'true', limit: String(PAGE) });
    if (this.#after !== '') query.set('after', this.#after);
    if (this.#contains !== '') query.set('contains', this.#contains);
    const { streams, total, next } = await getJson(`/v1/streams?${query}`);
    if (!isCurrent()) return;
    this.#next = next;
    setText(byId('streams-count'), count(total));
    byId('streams-pager').hidden = this.#after === '' && next === undefined;
    byId('streams-first').disabled = this.#after === '';
    byId('streams-next').disabled = next === undefined;
    byId('streams-empty').hidden = streams.length > 0;
    const none = this.#contains === '' ? 'No streams yet.' : `No stream has “${this.#contains}” in its name.`;
    setText(byId('streams-empty'), none);
    const now = performance.now();
    setRows(
      byId('streams'),
      streams,
      ({ name }) => name,
      makeRow,
      (row, stream) => {
        fillRow(row, stream, this.#rate(stream, now));
      },
    );
  }

  #rate({ name, nextOffset }, now) {
    const before = this.#seen.get(name);
    this.#seen.set(name, { nextOffset, at: now });
    if (before === undefined || now === before.at) return undefined;
    return Math.max(0, (nextOffset - before.nextOffset) / (now - before.at)) * 1_000;
  }
}

function makeRow({ name }) {
  // Where there is no room for columns, each figure carries its name.
  const cells = LABELS.map((label) => element('td', { class: 'number', 'data-label': label }));
  cells.push(element('td', { class: 'lags' }));
  return element('tr', {}, element('th', { scope: 'row' }, element('a', { href: addressOf(name) }, name)), ...cells);
}

function fillRow(row, { records, userBytes, storedBytes, consumers }, rate) {
  const texts = [count(records), rate === undefined ? '–' : compact(rate), bytes(userBytes), bytes(storedBytes)];
  texts.forEach((text, index) => setText(row.children[index + 1], text));
  const shown = [...consumers].sort((left, right) => right.lag - left.lag).slice(0, CONSUMERS_SHOWN);
  const lags = row.lastElementChild;
  setRows(
    lags,
    shown,
    ({ reference }) => reference,
    makeLag,
    (node, { lag }) => {
      const tone = lag === 0 ? 'good' : 'none';
      if (node.lastElementChild.dataset.tone !== tone) node.lastElementChild.dataset.tone = tone;
      setText(node.lastElementChild, compact(lag));
    },
  );
  const more = consumers.length - shown.length;
  lags.title = more > 0 ? `and ${plural(more, 'more consumer')}` : '';
}

function makeLag({ reference }) {
  return element('span', { class: 'lag' }, element('span', {}, reference), ' ', element('b'));
}
