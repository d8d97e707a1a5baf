/** Requests to the server that this page came from. */
import { byId, element, setText } from './dom.js';

const TOKEN_KEY = 'millrace-token';
const TIMEOUT_MS = 10_000;

/** Of this tab, and no longer than it is open. */
let token = read();
/** One question at a time, however many requests wait for its answer. */
let asking;

function read() {
  try {
    return sessionStorage.getItem(TOKEN_KEY) ?? undefined;
  } catch {
    return undefined;
  }
}

export class Problem extends Error {
  constructor(status, code, detail) {
    super(detail);
    this.status = status;
    this.code = code;
  }
}

async function request(path) {
  for (;;) {
    const sent = token;
    const headers = sent === undefined ? {} : { authorization: `Bearer ${sent}` };
    const response = await fetch(path, { headers, cache: 'no-store', signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (response.status !== 401) return response;
    if (sent === token) await askForToken(sent !== undefined);
  }
}

/** Throws a `Problem` for what the server refuses. */
async function checked(path) {
  const response = await request(path);
  if (response.ok) return response;
  const { code, detail } = await response.json().catch(() => ({}));
  throw new Problem(response.status, code, detail ?? response.statusText);
}

export const getJson = async (path) => (await checked(path)).json();

export async function getLines(path) {
  const text = await (await checked(path)).text();
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

/** Saves what is at a path as a file. A link alone would not carry the token. */
export async function download(path, name) {
  const address = URL.createObjectURL(await (await checked(path)).blob());
  const link = element('a', { href: address, download: name });
  link.click();
  URL.revokeObjectURL(address);
}

function askForToken(isWrong) {
  asking ??= new Promise((resolve) => {
    const dialog = byId('token-dialog');
    setText(
      byId('token-hint'),
      isWrong ? 'That was not the token of this server.' : 'It is kept until you close this tab.',
    );
    const done = () => {
      // What no header can carry is no token either.
      token = byId('token').value.replace(/[^\x21-\x7e]/g, '');
      try {
        sessionStorage.setItem(TOKEN_KEY, token);
      } catch {
        // Without storage it lasts as long as the page.
      }
      asking = undefined;
      resolve();
    };
    dialog.addEventListener('close', done, { once: true });
    dialog.showModal();
  });
  return asking;
}
