/** Files that the server hands out, read once: no path of a request ever reaches the file system. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Exchange } from './exchange.ts';

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
    const body = readFileSync(join(import.meta.dirname, name));
    asset = { mediaType, body, entityTag: `"${createHash('sha256').update(body).digest('base64url')}"` };
    assets.set(name, asset);
  }
  return asset;
}

function sendAsset(exchange: Exchange, { mediaType, body, entityTag }: Asset, headers: Record<string, string>): void {
  const caching = { 'cache-control': 'no-cache', etag: entityTag };
  const isKnown = exchange.request.headers['if-none-match'] === entityTag;
  exchange.send(isKnown ? 304 : 200, mediaType, isKnown ? '' : body, { ...caching, ...headers });
}

export function getOpenApi(exchange: Exchange): void {
  sendAsset(exchange, assetOf('openapi.json', 'application/json'), {});
}
