/**
 * Who may ask: the name that the request was sent to, the page that sent it, and the token it carries. A server on this
 * machine is within reach of every page that its user's browser has open: a page of another origin is refused, and so
 * is a name that an attacker's DNS points here.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { BlockList } from 'node:net';
import { badRequest, HttpError } from './problem.ts';

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]'] as const;
const BEARER = /^bearer +(\S+)$/i;
/** A browser says that the request comes from the server's own page, or from its user. */
const TRUSTED_SITES: ReadonlySet<unknown> = new Set([undefined, 'same-origin', 'none']);

const LOOPBACK: BlockList = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

export function isLoopback(address: string, family: 4 | 6): boolean {
  return LOOPBACK.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

export interface AccessRules {
  readonly loopback: boolean;
  readonly allowedHosts: readonly string[];
  readonly token: string | undefined;
}

export class Access {
  /** Names that requests may be sent to; `undefined`: any, for a token is asked for. */
  readonly #hosts: ReadonlySet<string> | undefined;
  readonly #tokenDigest: Buffer | undefined;

  constructor({ loopback, allowedHosts, token }: AccessRules) {
    const anyHost = !loopback && allowedHosts.length === 0;
    this.#hosts = anyHost ? undefined : new Set([...(loopback ? LOOPBACK_NAMES : []), ...allowedHosts]);
    this.#tokenDigest = token === undefined ? undefined : digest(token);
  }

  /** Throws for a request that was sent to another name, as it is after DNS rebinding. */
  checkHost(headers: IncomingHttpHeaders): void {
    const host = nameOf(headers.host ?? '');
    if (host !== '' && (this.#hosts === undefined || this.#hosts.has(host))) return;
    throw badRequest(421, `this server does not answer for host ${JSON.stringify(host)}: see --allow-host`);
  }

  /** Throws for a request that a page of another origin sent. */
  checkOrigin(headers: IncomingHttpHeaders): void {
    const { origin, host = '' } = headers;
    const site = headers['sec-fetch-site'];
    if (TRUSTED_SITES.has(site) && (origin === undefined || isSameHost(origin, host))) return;
    throw badRequest(403, `requests of pages of another origin (${origin ?? String(site)}) are refused`);
  }

  /** Throws unless the request carries the token, if there is one. */
  checkToken(headers: IncomingHttpHeaders): void {
    if (this.#tokenDigest === undefined) return;
    const given = BEARER.exec(headers.authorization ?? '')?.[1];
    // Digests are of one length, and compared in constant time: how long it takes says nothing about the token.
    if (given !== undefined && timingSafeEqual(digest(given), this.#tokenDigest)) return;
    throw new HttpError(
      401,
      'ERR_MILLRACE_UNAUTHORIZED',
      given === undefined ? 'send the token as Authorization: Bearer <token>' : 'this is not the token of this server',
      { 'www-authenticate': 'Bearer realm="millrace"' },
    );
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** The host without its port, as names are compared. */
function nameOf(host: string): string {
  return host.replace(/:\d*$/, '').replace(/\.$/, '').toLowerCase();
}

/** Whatever the scheme: a proxy may have taken TLS off. */
function isSameHost(origin: string, host: string): boolean {
  const separator = origin.indexOf('://');
  return separator > 0 && origin.slice(separator + 3).toLowerCase() === host.toLowerCase();
}
