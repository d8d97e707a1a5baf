/** A report: one HTML file that needs nothing else, in light and dark, on screens of any width. */
import { escape } from './html.ts';
import { PAGE_STYLE } from './style.ts';

/** `body` is HTML that is ready; it comes behind the title. `style`: what the page needs beyond the common rules. */
export function htmlPage(title: string, body: readonly string[], style = ''): string {
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escape(title)}</title>`,
    `<style>${PAGE_STYLE}${style}</style>`,
    '</head>',
    '<body>',
    '<main>',
    `<h1>${escape(title)}</h1>`,
    ...body,
    '</main>',
    '</body>',
    '</html>',
    '',
  ].join('\n');
}
