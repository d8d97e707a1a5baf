/** The page: which view the address names, and asking again as long as somebody looks. */
import { Problem } from './api.js';
import { byId, setText } from './dom.js';
import { Overview } from './overview.js';
import { StreamView } from './stream.js';
import { bindTheme } from './theme.js';

const INTERVAL_MS = 1_000;
const RETRY_MS = 3_000;

const views = { overview: new Overview(), stream: new StreamView() };
let timer;
/** Answers to questions of a view that was left are dropped. */
let turn = 0;

/** `#/streams/{name}` names a stream, anything else all of them. */
function viewOfAddress() {
  const [, name] = /^#\/streams\/([^/]+)$/.exec(location.hash) ?? [];
  if (name === undefined) return views.overview;
  try {
    views.stream.name = decodeURIComponent(name);
    return views.stream;
  } catch {
    return views.overview;
  }
}

function show(view) {
  byId('overview').hidden = view !== views.overview;
  byId('stream').hidden = view !== views.stream;
  document.title = view === views.stream ? `${views.stream.name} · millrace` : 'millrace';
}

function setState(state, text) {
  const node = byId('state');
  node.dataset.state = state;
  setText(node, text);
}

function notice(text) {
  byId('notice').hidden = text === undefined;
  setText(byId('notice'), text ?? '');
}

async function refresh() {
  clearTimeout(timer);
  const mine = ++turn;
  let wait = INTERVAL_MS;
  try {
    // The head of the page is that of the store, whatever is below.
    await views.overview.refreshHead(setState);
    const view = viewOfAddress();
    await view.refresh(() => mine === turn);
    if (mine === turn) notice(undefined);
  } catch (error) {
    if (mine !== turn) return;
    wait = RETRY_MS;
    if (error instanceof Problem) notice(`${error.message} (${error.code ?? error.status})`);
    else setState('lost', 'No connection');
  }
  if (mine === turn && !document.hidden) timer = setTimeout(refresh, wait);
}

function navigate() {
  const view = viewOfAddress();
  show(view);
  view.enter();
  void refresh();
}

bindTheme(byId('theme'));
window.addEventListener('hashchange', () => {
  navigate();
  byId('main').focus({ preventScroll: true });
  window.scrollTo(0, 0);
});
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) void refresh();
});
document.addEventListener('refresh', () => void refresh());
navigate();
