/** Files that the server hands out, read once: no path of a request ever reaches the file system. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { MillraceError } from '../errors/millrace-error.ts';
import type { Exchange } from './exchange.ts';
import { badRequest } from './problem.ts';

interface Asset {
  readonly mediaType: string;
  readonly body: Buffer;
  readonly entityTag: string;
}

const assets = new Map<string, Asset>();

/** A file beside this module. */
function assetOf(name: string, mediaType: string): Asset {
  let asset = assets.get(name);
  if (asset === undefined) {
    const body = contentOf(join(import.meta.dirname, name));
    asset = { mediaType, body, entityTag: `"${createHash('sha256').update(body).digest('base64url')}"` };
    assets.set(name, asset);
  }
  return asset;
}

/** What is missing was left behind by a bundler. */
function contentOf(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new MillraceError(
      'ERR_MILLRACE_READ_FAILED',
      `${path}: not readable; a program that was bundled needs the files of the server beside it, see docs/bundling.md`,
      { cause: error },
    );
  }
}

function sendAsset(exchange: Exchange, { mediaType, body, entityTag }: Asset, headers: Record<string, string>): void {
  const caching = { 'cache-control': 'no-cache', etag: entityTag };
  const isKnown = exchange.request.headers['if-none-match'] === entityTag;
  exchange.send(isKnown ? 304 : 200, mediaType, isKnown ? '' : body, { ...caching, ...headers });
}

export function getOpenApi(exchange: Exchange): void {
  sendAsset(exchange, assetOf('openapi.json', 'application/json'), {});
}

/** Nothing but the files of the page itself, and no text that ever becomes markup or script. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');
const PAGE_HEADERS = { 'content-security-policy': PAGE_POLICY };
const PAGE_FOLDER = 'dashboard';
const SCRIPT = 'text/javascript; charset=utf-8';
const STYLE = 'text/css; charset=utf-8';

const PAGE_FILES: Readonly<Record<string, string>> = {
  'api.js': SCRIPT,
  'app.js': SCRIPT,
  'chart.js': SCRIPT,
  'dom.js': SCRIPT,
  'format.js': SCRIPT,
  'icon.svg': 'image/svg+xml',
  'layout.css': STYLE,
  'overview.js': SCRIPT,
  'records.js': SCRIPT,
  'stream.js': SCRIPT,
  'streams.js': SCRIPT,
  'style.css': STYLE,
  'theme.js': SCRIPT,
};

export function getPage(exchange: Exchange): void {
  sendAsset(exchange, assetOf(join(PAGE_FOLDER, 'index.html'), 'text/html; charset=utf-8'), PAGE_HEADERS);
}

export function getPageFile(exchange: Exchange): void {
  const file = exchange.parameter('file');
  const mediaType = Object.hasOwn(PAGE_FILES, file) ? PAGE_FILES[file] : undefined;
  if (mediaType === undefined) throw badRequest(404, `the page has no file ${JSON.stringify(file)}`);
  sendAsset(exchange, assetOf(join(PAGE_FOLDER, file), mediaType), PAGE_HEADERS);
}
