/**
 * What an error of the driver or the server means. Only a code, a place and a redacted message go on: errors of `pg`
 * can lead back to the client, and that to the password.
 */
import { isMillraceError, MillraceError } from '../../errors/millrace-error.ts';
import type { ErrorCode } from '../../errors/codes.ts';

/** Where the database is, without credentials, and what must never show up in a message. */
export interface Place {
  readonly name: string;
  /** Asked anew for every error: a password function may have returned another one. */
  readonly secrets: () => readonly string[];
}

export type FailureKind =
  /** The server rolled back because of other transactions: the same transaction may simply run again. */
  | 'collision'
  /** The connection failed, or the server is going down or coming up. What it was doing is not known. */
  | 'lost'
  /** The server, or millrace itself, refused: the transaction is rolled back. */
  | 'refused';

const SQLSTATE = /^[0-9A-Z]{5}$/;
const COLLISIONS = new Set(['40001', '40P01']);
/** Administrator's command, crash of another session, start-up, idle transaction ended. */
const LOST = new Set(['57P01', '57P02', '57P03', '25P03']);
/** Driver errors that no waiting cures, by the beginning of their message. */
const HOPELESS_MESSAGES = ['SASL', 'The server does not support SSL', 'Unknown authenticationOk', 'Invalid '];
const HOPELESS_NODE_CODES = /^(ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;

/** What the server says a statement failed with; `undefined` when the server said nothing. */
function sqlStateOf(error: unknown): string | undefined {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' && SQLSTATE.test(code) && !code.startsWith('E') ? code : undefined;
}

export function failureKind(error: unknown): FailureKind {
  if (isMillraceError(error)) return 'refused';
  const state = sqlStateOf(error);
  if (state === undefined) return isFromDriver(error) ? 'lost' : 'refused';
  if (COLLISIONS.has(state)) return 'collision';
  return state.startsWith('08') || LOST.has(state) ? 'lost' : 'refused';
}

/** Broken invariants are thrown by name; whatever else has no SQLSTATE comes from the driver or the network. */
function isFromDriver(error: unknown): boolean {
  return !(error instanceof Error) || error.name === 'Error' || error.name === 'AggregateError';
}

/** The coded form of an error. Coded errors and broken invariants stay what they are. */
export function postgresError(error: unknown, place: Place): unknown {
  if (isMillraceError(error)) return error;
  const state = sqlStateOf(error);
  if (state === undefined && !isFromDriver(error)) return error;
  const code = state === undefined ? codeOfDriverError(error) : codeOfSqlState(state);
  const reason = state === undefined ? networkReason(error) : `SQLSTATE ${state}`;
  const problem = `${place.name} ${problemOf(code, state)} (${reason})`;
  const message = `${problem}: ${textOf(error, place)}${remedyOf(state, code)}`;
  return new MillraceError(code, message, { details: { reason } });
}

/** A commit whose reply was lost, and that could not be asked about in time. */
export function unresolvedError(last: unknown, place: Place, waited: number): MillraceError {
  const reason = sqlStateOf(last) ?? networkReason(last);
  return new MillraceError(
    'ERR_MILLRACE_UNAVAILABLE',
    `${place.name} did not say within ${waited} ms whether a commit took effect (${reason}): ask again`,
    { details: { reason, inDoubt: true } },
  );
}

function codeOfSqlState(state: string): ErrorCode {
  const classCode = state.slice(0, 2);
  // Authorization, no such database, schema or table, no privilege.
  const isRefusal = ['28', '3D', '3F'].includes(classCode) || ['42501', '42P01', '42883', '42703'].includes(state);
  return isRefusal ? 'ERR_MILLRACE_REFUSED' : 'ERR_MILLRACE_UNAVAILABLE';
}

function codeOfDriverError(error: unknown): ErrorCode {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  if (typeof code === 'string' && HOPELESS_NODE_CODES.test(code)) return 'ERR_MILLRACE_REFUSED';
  const isHopeless = typeof message === 'string' && HOPELESS_MESSAGES.some((start) => message.startsWith(start));
  return isHopeless ? 'ERR_MILLRACE_REFUSED' : 'ERR_MILLRACE_UNAVAILABLE';
}

function networkReason(error: unknown): string {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' && /^[A-Z0-9_]{1,40}$/.test(code) ? code : 'no answer';
}

function problemOf(code: ErrorCode, state: string | undefined): string {
  if (code === 'ERR_MILLRACE_REFUSED') return 'refused';
  return state === undefined ? 'cannot be reached' : 'failed';
}

function textOf(error: unknown, place: Place): string {
  const { message } = error as { readonly message?: unknown };
  let text = typeof message === 'string' && message !== '' ? message : 'no message';
  for (const secret of place.secrets()) if (secret !== '') text = text.replaceAll(secret, '[redacted]');
  return text;
}

function remedyOf(state: string | undefined, code: ErrorCode): string {
  if (state?.startsWith('28') === true) return '; check user, password and pg_hba.conf';
  if (state === '3D000') return '; create the database, or correct its name';
  if (state === '42P01' || state?.startsWith('3F') === true) return '; the schema is missing: open with migrate: true';
  if (state === '42501') return '; grant the role the rights on the schema';
  if (state === '25006' || state === '0A000') return '; a standby or a read-only server: connect to the primary';
  if (state === '53300') return '; raise max_connections, or lower maxConnections';
  if (code === 'ERR_MILLRACE_REFUSED') return '; check password, TLS and connection options';
  return '';
}
