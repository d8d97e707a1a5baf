/** Text into HTML. Everything that comes from a results file passes through `escape`. */

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export function escape(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] as string);
}

/** Cells of a table: text, or HTML that is ready. */
export type Cell = string | { readonly html: string };

/** The first column names the row; the others are set flush right. */
export function htmlTable(heading: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const head = heading.map((title) => `<th scope="col">${escape(title)}</th>`).join('');
  const body = rows.map((row) => `<tr>${row.map(cell).join('')}</tr>`).join('\n');
  return `<div class="scroll"><table><thead><tr>${head}</tr></thead>\n<tbody>${body}</tbody></table></div>`;
}

function cell(content: Cell, column: number): string {
  const html = typeof content === 'string' ? escape(content) : content.html;
  return column === 0 ? `<th scope="row">${html}</th>` : `<td>${html}</td>`;
}
