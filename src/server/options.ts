/** What `serve` takes: plain data, checked once, with every default in one place. */
import { checkFunction, invalid, shown } from '../errors/argument-checks.ts';
import { checkOptionNames } from '../errors/option-names.ts';
import { GIB, MIB } from '../limits/limits.ts';

/** How a store is served over HTTP. */
export interface ServeOptions {
  /** 0 takes a free one. Default 6455. */
  readonly port?: number;
  /** Name or address to listen on. Default 127.0.0.1: this machine alone. Anything else needs a `token`. */
  readonly host?: string;
  /** What requests have to carry as `Authorization: Bearer`. 16 characters or more. Default: none asked for. */
  readonly token?: string;
  /** Host names that requests may name beside those of this machine, such as that of a proxy. Default none. */
  readonly allowedHosts?: readonly string[];
  /** Bytes of one request's body. Default 1 GiB. */
  readonly maxBodyBytes?: number;
  /** Bytes of one line of a body. Default 32 MiB: the largest usual record, in base64. */
  readonly maxLineBytes?: number;
  /** Requests that follow a stream at once. Default 256. */
  readonly maxFollowers?: number;
  /** Connections open at once. Default 4,096. */
  readonly maxConnections?: number;
  /** Milliseconds in which a request's headers have to arrive. Default 10,000. */
  readonly headerTimeout?: number;
  /** Milliseconds without a byte in either direction after which a connection is closed. Default 60,000. */
  readonly idleTimeout?: number;
  /** Milliseconds between signs of life to a follower; less than `idleTimeout`. Default 15,000. */
  readonly heartbeatInterval?: number;
  /** Milliseconds that `close` leaves requests to finish. Default 10,000. */
  readonly shutdownGrace?: number;
  /** Told of what is answered as an internal error. Default: nobody is. */
  readonly onError?: (error: unknown) => void;
}

export type ServerSettings = Required<Omit<ServeOptions, 'token'>> & { readonly token: string | undefined };

export const PORT_DEFAULT = 6455;
const PORT_MAX = 65_535;
const TOKEN_CHARACTERS_MIN = 16;
/** What a header can carry. */
const TOKEN = /^[\x21-\x7e]+$/;
const TIMEOUT_MAX: number = 2 ** 31 - 1;

const NUMBERS = {
  port: { fallback: PORT_DEFAULT, from: 0, to: PORT_MAX },
  maxBodyBytes: { fallback: GIB, from: 1, to: Number.MAX_SAFE_INTEGER },
  maxLineBytes: { fallback: 32 * MIB, from: 1, to: GIB },
  maxFollowers: { fallback: 256, from: 0, to: 1_000_000 },
  maxConnections: { fallback: 4_096, from: 1, to: 1_000_000 },
  headerTimeout: { fallback: 10_000, from: 1, to: TIMEOUT_MAX },
  idleTimeout: { fallback: 60_000, from: 1, to: TIMEOUT_MAX },
  heartbeatInterval: { fallback: 15_000, from: 1, to: TIMEOUT_MAX },
  shutdownGrace: { fallback: 10_000, from: 0, to: TIMEOUT_MAX },
} as const;
type NumberName = keyof typeof NUMBERS;

const OTHERS = ['host', 'token', 'allowedHosts', 'onError'] as const;
const NAMES: ReadonlySet<string> = new Set([...Object.keys(NUMBERS), ...OTHERS]);

/** Throws `ERR_MILLRACE_INVALID_ARGUMENT` naming option and range. */
export function serverSettings(options: ServeOptions): ServerSettings {
  checkOptionNames(options, NAMES, 'serve');
  const { host = '127.0.0.1', token, allowedHosts = [], onError = () => undefined } = options;
  if (typeof host !== 'string' || host === '') throw invalid('option host is a name or an address');
  const areNames = Array.isArray(allowedHosts) && allowedHosts.every((name) => typeof name === 'string');
  if (!areNames) throw invalid('option allowedHosts is an array of host names');
  checkFunction('onError', onError);
  if (token !== undefined && !isToken(token)) {
    throw invalid(`option token has ${TOKEN_CHARACTERS_MIN} printable ASCII characters or more, and no spaces`);
  }
  const numbers = Object.fromEntries(
    (Object.keys(NUMBERS) as NumberName[]).map((name) => [name, numberOf(name, options[name])]),
  ) as Record<NumberName, number>;
  const { heartbeatInterval, idleTimeout } = numbers;
  if (heartbeatInterval >= idleTimeout && options.heartbeatInterval !== undefined) {
    throw invalid(`option heartbeatInterval (${heartbeatInterval}) is less than idleTimeout (${idleTimeout})`);
  }
  return {
    ...numbers,
    heartbeatInterval: Math.min(heartbeatInterval, Math.ceil(idleTimeout / 2)),
    host,
    token,
    allowedHosts: allowedHosts.map((name) => name.toLowerCase()),
    onError,
  };
}

function isToken(token: unknown): boolean {
  return typeof token === 'string' && token.length >= TOKEN_CHARACTERS_MIN && TOKEN.test(token);
}

function numberOf(name: NumberName, value: number | undefined): number {
  const { fallback, from, to } = NUMBERS[name];
  if (value === undefined) return fallback;
  if (Number.isSafeInteger(value) && value >= from && value <= to) return value;
  throw invalid(`option ${name} is a whole number from ${from} to ${to}, not ${shown(value)}`);
}
