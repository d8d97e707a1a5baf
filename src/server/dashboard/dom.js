/** The document, without ever turning text into markup: what a record holds stays text. */

export const byId = (id) => document.getElementById(id);

/** An element with properties (`class`, attributes) and children: elements or text. */
export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === false) continue;
    made.setAttribute(key, value === true ? '' : value);
  }
  made.append(...children);
  return made;
}

/** Sets text only where it changed: a screen reader that stands there is not disturbed. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Names and values of a description list; the elements are kept as long as the names are the same. */
export function setPairs(list, pairs) {
  const names = pairs.map(([name]) => name).join('\n');
  if (list.dataset.names !== names) {
    list.dataset.names = names;
    list.replaceChildren(...pairs.map(([name]) => element('div', {}, element('dt', {}, name), element('dd'))));
  }
  pairs.forEach(([, value, tone], index) => {
    const cell = list.children[index].lastElementChild;
    setText(cell, String(value));
    if (tone === undefined) delete cell.dataset.tone;
    else cell.dataset.tone = tone;
  });
}

/** Rows of a table by key: those that stay keep their elements, and the focus in them. `fill` sets the cells. */
export function setRows(body, items, keyOf, make, fill) {
  const known = new Map([...body.children].map((row) => [row.dataset.key, row]));
  items.forEach((item, index) => {
    const key = String(keyOf(item));
    let row = known.get(key);
    known.delete(key);
    if (row === undefined) {
      row = make(item);
      row.dataset.key = key;
    }
    fill(row, item);
    if (body.children[index] !== row) body.insertBefore(row, body.children[index] ?? null);
  });
  for (const row of known.values()) row.remove();
}

/** Parts of a bar, each with its share of the whole, from 0 to 1. */
export function setBar(bar, shares) {
  while (bar.children.length < shares.length) bar.append(element('i'));
  shares.forEach(({ share, tone }, index) => {
    const part = bar.children[index];
    part.dataset.tone = tone;
    part.style.setProperty('width', `${Math.max(0, Math.min(1, share)) * 100}%`);
  });
}
