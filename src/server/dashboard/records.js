/** A record as a row: keys and values as text, as pretty JSON, or as hexadecimal digits. Always as text nodes. */
import { download } from './api.js';
import { element } from './dom.js';
import { bytes, time } from './format.js';

const HEX_ROW_BYTES = 16;
const HEX_ROWS_MAX = 64;
/** Longer values open on demand. */
const LINES_SHOWN = 3;
const CHARACTERS_SHOWN = 180;

/** `path`: of the stream, for the whole value. */
export function recordRow(record, view, path) {
  const { offset, timestamp, key, value, valueBytes } = record;
  return element(
    'tr',
    {},
    element('th', { scope: 'row', class: 'number' }, String(offset)),
    element('td', { class: 'time' }, time(timestamp)),
    element('td', { class: 'bytes' }, ...contentNodes(key, view, 'no key')),
    element('td', { class: 'bytes' }, ...contentNodes(value, view, 'tombstone'), ...rest(record, valueBytes, path)),
  );
}

/** A value that was cut, and where all of it is. */
function rest({ offset, value }, valueBytes, path) {
  if (value === null || bytesOf(value).length >= valueBytes) return [];
  const link = element('button', { type: 'button', class: 'link' }, 'download');
  link.addEventListener('click', () => void download(`${path}/records/${offset}`, `record-${offset}`));
  return [element('p', { class: 'muted' }, `the beginning of ${bytes(valueBytes)} · `, link)];
}

function contentNodes(content, view, absent) {
  if (content === null) return [element('span', { class: 'absent' }, absent)];
  const isBinary = typeof content !== 'string';
  if (content === '') return [element('span', { class: 'absent' }, 'empty')];
  if (isBinary || view === 'hex') return [hexNode(bytesOf(content))];
  const pretty = view === 'auto' ? prettyJson(content) : undefined;
  return [textNode(pretty ?? content, pretty === undefined ? 'plain' : 'json')];
}

function prettyJson(text) {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return undefined;
  }
}

function textNode(text, kind) {
  const lines = text.split('\n');
  if (lines.length <= LINES_SHOWN && text.length <= CHARACTERS_SHOWN) return element('pre', { class: kind }, text);
  // On one line a document says more than its first three lines would.
  const line = kind === 'json' ? lines.map((part) => part.trim()).join(' ') : (lines[0] ?? '');
  const isWhole = kind === 'json' && line.length <= CHARACTERS_SHOWN;
  const start = isWhole ? line : `${line.slice(0, CHARACTERS_SHOWN)}…`;
  return element('details', {}, element('summary', { class: kind }, start), element('pre', { class: kind }, text));
}

/** Position, digits and printable characters, sixteen bytes a row. */
function hexNode(content) {
  const rows = [];
  for (let at = 0; at < content.length && rows.length < HEX_ROWS_MAX; at += HEX_ROW_BYTES) {
    const part = [...content.subarray(at, at + HEX_ROW_BYTES)];
    const digits = part.map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const text = part.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '·')).join('');
    rows.push(`${at.toString(16).padStart(4, '0')}  ${digits.padEnd(HEX_ROW_BYTES * 3 - 1)}  ${text}`);
  }
  if (rows.length * HEX_ROW_BYTES < content.length) rows.push('…');
  const all = element('pre', { class: 'hex' }, rows.join('\n'));
  if (rows.length <= LINES_SHOWN) return all;
  return element('details', {}, element('summary', {}, `${rows[0]} …`), all);
}

/** The bytes of a content as the server gives it: text, or `{ base64 }`. */
function bytesOf(content) {
  if (typeof content === 'string') return new TextEncoder().encode(content);
  return Uint8Array.from(atob(content.base64), (character) => character.charCodeAt(0));
}
