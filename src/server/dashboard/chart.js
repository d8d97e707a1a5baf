/** A chart of the last minutes: lines over time, a scale that is round, and a reading of the point one looks at. */
import { element, setText } from './dom.js';

const NAMESPACE = 'http://www.w3.org/2000/svg';
const HEIGHT = 132;
const PADDING = { top: 10, right: 2, bottom: 18, left: 2 };
/** The shortest of these that holds all points: a page that was just opened is not empty for minutes. */
const SPANS = [
  { span: 60_000, ticks: [45, 30, 15], unit: 's' },
  { span: 120_000, ticks: [90, 60, 30], unit: 's' },
  { span: 300_000, ticks: [240, 180, 120, 60], unit: 'min' },
];
const LINES_MAX = 3;

function svg(name, attributes = {}) {
  const made = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

/** 1, 2 or 5 times a power of ten, so that a scale up to `highest` has few steps of it. */
export function roundStep(highest, steps = LINES_MAX) {
  const rough = highest / steps;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough);
}

export class Chart {
  #host;
  #series;
  #format;
  #least;
  #label;
  #root = svg('svg', { role: 'img', focusable: 'false', preserveAspectRatio: 'none' });
  #reading = element('p', { class: 'reading', 'aria-live': 'off' });
  #points = [];
  #picked;
  #scale = SPANS[0];

  /** `series`: `{ key, name, tone, isArea }` each. `least`: the scale reaches at least this far. */
  constructor(host, { label, series, format, least }) {
    this.#host = host;
    this.#series = series;
    this.#format = format;
    this.#least = least;
    this.#label = label;
    host.tabIndex = 0;
    host.setAttribute('role', 'group');
    host.setAttribute('aria-label', `${label}, last five minutes. Arrow keys read single points.`);
    host.append(this.#root, this.#reading);
    host.addEventListener('pointermove', (event) => this.#point(event));
    host.addEventListener('pointerleave', () => this.#pick(undefined));
    host.addEventListener('blur', () => this.#pick(undefined));
    host.addEventListener('keydown', (event) => this.#key(event));
    new ResizeObserver(() => this.#draw()).observe(host);
  }

  /** Points in order of time: `{ at, ...values }`, `at` in milliseconds. */
  set(points) {
    const picked = this.#picked === undefined ? undefined : this.#points[this.#picked];
    this.#points = points;
    const length = (points.at(-1)?.at ?? 0) - (points[0]?.at ?? 0);
    this.#scale = SPANS.find(({ span }) => span >= length) ?? SPANS.at(-1);
    const index = points.indexOf(picked);
    this.#picked = index < 0 ? undefined : index;
    this.#draw();
  }

  #width() {
    return Math.max(120, this.#host.clientWidth);
  }

  #x(at, end) {
    const inner = this.#width() - PADDING.left - PADDING.right;
    return PADDING.left + inner * (1 - (end - at) / this.#scale.span);
  }

  #draw() {
    const width = this.#width();
    const end = this.#points.at(-1)?.at ?? 0;
    const values = this.#points.flatMap((point) => this.#series.map(({ key }) => point[key] ?? 0));
    const highest = Math.max(this.#least, ...values) * 1.08;
    const y = (value) => HEIGHT - PADDING.bottom - (HEIGHT - PADDING.top - PADDING.bottom) * (value / highest);
    this.#root.setAttribute('viewBox', `0 0 ${width} ${HEIGHT}`);
    this.#root.setAttribute('height', String(HEIGHT));
    this.#root.setAttribute('aria-label', this.#summary());
    this.#root.replaceChildren(
      ...this.#grid(width, highest, y),
      ...this.#series.flatMap((series) => this.#line(series, end, y)),
      ...this.#cursor(end, y),
    );
    this.#read();
  }

  #grid(width, highest, y) {
    const step = roundStep(highest);
    const parts = [];
    for (let value = 0; value < highest; value += step) {
      const at = Math.round(y(value)) + 0.5;
      parts.push(svg('line', { class: value === 0 ? 'base' : 'grid', x1: 0, x2: width, y1: at, y2: at }));
      if (value === 0) continue;
      const text = svg('text', { class: 'tick', x: 2, y: at - 3 });
      text.textContent = this.#format(value);
      parts.push(text);
    }
    const { ticks, unit } = this.#scale;
    for (const seconds of ticks) {
      const text = svg('text', {
        class: 'tick',
        x: this.#x(-seconds * 1_000, 0),
        y: HEIGHT - 4,
        'text-anchor': 'middle',
      });
      text.textContent = `−${unit === 'min' ? seconds / 60 : seconds} ${unit}`;
      parts.push(text);
    }
    const now = svg('text', { class: 'tick', x: width - 2, y: HEIGHT - 4, 'text-anchor': 'end' });
    now.textContent = 'now';
    return [...parts, now];
  }

  /** A gap where there is no value: nothing was acknowledged then. */
  #line({ key, tone, isArea }, end, y) {
    let path = '';
    let area = '';
    let start;
    let last;
    const close = () => {
      if (start !== undefined) area += `L${last.toFixed(1)} ${y(0).toFixed(1)}L${start.toFixed(1)} ${y(0).toFixed(1)}Z`;
      start = undefined;
    };
    for (const point of this.#points) {
      const value = point[key];
      if (value === null || value === undefined) {
        close();
        continue;
      }
      const x = this.#x(point.at, end);
      const place = `${start === undefined ? 'M' : 'L'}${x.toFixed(1)} ${y(value).toFixed(1)}`;
      // A point without neighbours is a line of no length: its round ends make it a dot.
      path += start === undefined ? `${place}h0` : place;
      area += place;
      start ??= x;
      last = x;
    }
    close();
    const line = svg('path', { class: 'line', d: path, 'data-tone': tone });
    return isArea ? [svg('path', { class: 'area', d: area, 'data-tone': tone }), line] : [line];
  }

  #cursor(end, y) {
    const point = this.#points[this.#picked];
    if (point === undefined) return [];
    const x = this.#x(point.at, end);
    const rule = svg('line', { class: 'cursor', x1: x, x2: x, y1: PADDING.top, y2: HEIGHT - PADDING.bottom });
    const dots = this.#series
      .filter(({ key }) => typeof point[key] === 'number')
      .map(({ key, tone }) => svg('circle', { class: 'dot', cx: x, cy: y(point[key]), r: 3.5, 'data-tone': tone }));
    return [rule, ...dots];
  }

  #read() {
    const point = this.#points[this.#picked];
    if (point === undefined) {
      setText(this.#reading, '');
      return;
    }
    const ago = Math.round((this.#points.at(-1).at - point.at) / 1_000);
    const values = this.#series.map(({ key, name }) => {
      const value = point[key];
      return `${name} ${value === null || value === undefined ? '–' : this.#format(value)}`.trim();
    });
    setText(this.#reading, `${values.join(' · ')} · ${ago === 0 ? 'now' : `${ago} s ago`}`);
  }

  #summary() {
    const parts = this.#series.map(({ key, name }) => {
      const values = this.#points.map((point) => point[key]).filter((value) => typeof value === 'number');
      if (values.length === 0) return `${name} none`.trim();
      return `${name} at most ${this.#format(Math.max(...values))}, now ${this.#format(values.at(-1))}`.trim();
    });
    return `${this.#label}: ${parts.join('; ')}`;
  }

  #point(event) {
    const { left, width } = this.#host.getBoundingClientRect();
    const end = this.#points.at(-1)?.at ?? 0;
    const at = end - this.#scale.span * (1 - (event.clientX - left) / width);
    let nearest;
    this.#points.forEach((point, index) => {
      const best = nearest === undefined ? Infinity : Math.abs(this.#points[nearest].at - at);
      if (Math.abs(point.at - at) < best) nearest = index;
    });
    this.#pick(nearest);
  }

  #key(event) {
    const moves = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
    const move = moves[event.key];
    if (event.key === 'Escape') this.#pick(undefined);
    if (move === undefined || this.#points.length === 0) return;
    event.preventDefault();
    const last = this.#points.length - 1;
    this.#reading.setAttribute('aria-live', 'polite');
    this.#pick(Math.max(0, Math.min(last, (this.#picked ?? last) + move)));
  }

  #pick(index) {
    if (index === undefined) this.#reading.setAttribute('aria-live', 'off');
    if (this.#picked === index) return;
    this.#picked = index;
    this.#draw();
  }
}
