/** Which store a command works on: the one in a directory, or one that several processes share. */
import { type Command, Option } from 'commander';
import type { CoordinatorComponent } from '../coordinator/component.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import type { ObjectStoreComponent } from '../object/object-store.ts';
import { open } from './engine.ts';
import type { OpenOptions } from '../store/options.ts';
import type { Store } from '../store/store.ts';
import { parseDirectory } from './arguments.ts';
import { asUsage, usageError } from './failure.ts';
import { openExisting } from './open-existing.ts';

export interface PlaceOptions {
  readonly coordinator?: string;
  readonly objects?: string;
}

/** A store, as the command line names it. */
export interface Place extends PlaceOptions {
  readonly dir: string | undefined;
}

export const PLACE_EXAMPLE = '--coordinator postgresql://db/events --objects s3://bucket/millrace/';

export const PLACES = 'a directory, or s3://bucket/prefix/?endpoint=url&region=name';

/** Where the objects of a store in a directory are, when not in the directory. */
export function objectsOption(): Option {
  return new Option('--objects <place>', `where its objects are, if not in its directory: ${PLACES}`);
}

/** Adds the argument and the options that name a store. */
export function withPlace(command: Command): Command {
  return command
    .argument('[dir]', 'directory of the store', parseDirectory)
    .option('--coordinator <url>', 'instead of a directory: postgresql://user@host/database?schema=name (PGPASSWORD)')
    .addOption(objectsOption())
    .addHelpText(
      'after',
      '\nA store that processes share is named by its database and its bucket. Passwords and keys come from the ' +
        'environment,\nas PostgreSQL and AWS tools read it.',
    );
}

export function placeOf(dir: string | undefined, { coordinator, objects }: PlaceOptions): Place {
  if (dir !== undefined && coordinator === undefined) return { dir, ...(objects === undefined ? {} : { objects }) };
  if (dir === undefined && coordinator !== undefined && objects !== undefined) return { dir, coordinator, objects };
  throw usageError('a store is a directory, maybe with --objects, or --coordinator and --objects together');
}

/** Opens a store that exists; never makes one, and starts no compaction in the background. */
export async function openPlace({ dir, coordinator, objects }: Place, readOnly: boolean): Promise<Store> {
  if (dir !== undefined) {
    const where = { dir, ...(await objectsGiven(objects)) };
    return readOnly ? open({ ...where, readOnly }) : openExisting({ ...where, compaction: false });
  }
  return open({
    wal: false,
    readOnly,
    compaction: false,
    coordinator: await coordinatorAt(coordinator ?? ''),
    objects: await objectsAt(objects ?? ''),
  });
}

async function coordinatorAt(text: string): Promise<CoordinatorComponent> {
  const url = urlOf(text);
  if (url.protocol !== 'postgresql:' && url.protocol !== 'postgres:')
    throw usageError('--coordinator takes postgresql://');
  const schema = url.searchParams.get('schema');
  url.searchParams.delete('schema');
  const { describePostgres } = await loaded('pg', () => import('../coordinator/postgres/postgres-coordinator.ts'));
  // A command that looks after a store does not change its schema: others may still run older code.
  return describePostgres({ connectionString: url.href, migrate: false, ...(schema === null ? {} : { schema }) });
}

/** The option of `open`, if the command line has it. */
export async function objectsGiven(text: string | undefined): Promise<Pick<OpenOptions, 'objects'>> {
  return text === undefined ? {} : { objects: await objectsAt(text) };
}

export async function objectsAt(text: string): Promise<ObjectStoreComponent | string> {
  if (!text.startsWith('s3:')) return parseDirectory(text);
  const url = urlOf(text);
  const options: Record<string, string> = { bucket: url.hostname, prefix: url.pathname.slice(1) };
  for (const [name, value] of url.searchParams) {
    if (name !== 'endpoint' && name !== 'region') throw usageError(`--objects knows endpoint and region, not ${name}`);
    options[name] = value;
  }
  // What the SDK thinks of the version of Node, once in each thread, is no error: those are one line.
  process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true';
  const { describeS3Store } = await loaded('@aws-sdk/client-s3', () => import('../object/s3/s3-object-store.ts'));
  return asUsage(() => describeS3Store(options as { bucket: string }));
}

async function loaded<T>(peer: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new MillraceError('ERR_MILLRACE_UNSUPPORTED', `this needs the package ${peer}: npm install ${peer}`);
  }
}

/** The text is not repeated: it may hold a password. */
function urlOf(text: string): URL {
  if (URL.canParse(text)) return new URL(text);
  throw usageError('--coordinator and --objects take URLs such as postgresql://host/database and s3://bucket/prefix/');
}
