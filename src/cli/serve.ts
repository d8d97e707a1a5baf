/** `millrace serve`: the store over HTTP, with a dashboard. */
import { Command } from 'commander';
import { isMillraceError, MillraceError } from '../errors/millrace-error.ts';
import type { ServeOptions } from '../server/options.ts';
import { PORT_DEFAULT } from '../server/options.ts';
import { serve } from '../server/server.ts';
import { open } from './engine.ts';
import type { Store } from '../store/store.ts';
import { parseDirectory, parseLimit, parsePort, parsePositive } from './arguments.ts';
import { asUsage } from './failure.ts';
import { examples } from './help.ts';
import { interruptible } from './interruption.ts';
import { note, print, printJson } from './output.ts';
import { objectsGiven, objectsOption } from './place.ts';

interface ServeCommandOptions {
  readonly port: number;
  readonly host: string;
  readonly token?: string;
  readonly allowHost?: readonly string[];
  readonly maxBody?: number;
  readonly maxFollowers?: number;
  readonly readOnly?: true;
  readonly objects?: string;
  readonly json?: true;
}

const TOKEN_VARIABLE = 'MILLRACE_TOKEN';

export function serveCommand(): Command {
  return new Command('serve')
    .summary('serve the store over HTTP, with a dashboard')
    .description(
      'Serves the store over HTTP until Ctrl-C: appends, reads, followers and metrics for any language, and a ' +
        'dashboard for browsers. Makes the store when it does not exist. Listens on this machine alone; any other ' +
        'address needs a token, and a proxy that speaks TLS in front of it.',
    )
    .argument('<dir>', 'directory of the store', parseDirectory)
    .option('--port <number>', 'port to listen on; 0 takes a free one', parsePort, PORT_DEFAULT)
    .option('--host <host>', 'name or address to listen on', '127.0.0.1')
    .option('--token <token>', `what requests have to carry; rather set ${TOKEN_VARIABLE}, which others cannot see`)
    .option('--allow-host <name...>', 'host names that requests may name, such as that of a proxy')
    .option('--max-body <bytes>', 'the largest body of a request', parsePositive)
    .option('--max-followers <n>', 'requests that follow a stream at once (default: 256)', parseLimit)
    .option('--read-only', 'serve beside the process that has the store open: what is in segments')
    .addOption(objectsOption())
    .option('--json', 'print the address as a JSON object')
    .addHelpText(
      'after',
      examples(
        'millrace serve ./data',
        'millrace serve ./data --port 8080 --read-only',
        `${TOKEN_VARIABLE}=$(openssl rand -hex 24) millrace serve ./data --host 0.0.0.0`,
      ),
    )
    .action((dir: string, options: ServeCommandOptions) =>
      interruptible((signal) => serveDirectory(dir, options, signal)),
    );
}

async function serveDirectory(dir: string, options: ServeCommandOptions, signal: AbortSignal): Promise<void> {
  const json = options.json === true;
  const store = await openFor(dir, options.readOnly === true, options.objects);
  try {
    const server = await asUsage(() => serve(store, serveOptionsOf(options)));
    try {
      if (json) await printJson({ url: server.url, dir, readOnly: options.readOnly === true });
      else await print(`${dir} is served at ${server.url} until Ctrl-C\n`);
      await untilAborted(signal);
      note(`${String(signal.reason)}: finishing what is under way`, json);
    } finally {
      await server.close();
    }
  } finally {
    await store.close();
  }
}

async function openFor(dir: string, readOnly: boolean, objects: string | undefined): Promise<Store> {
  try {
    return await open({ dir, readOnly, ...(await objectsGiven(objects)) });
  } catch (error) {
    if (!isMillraceError(error, 'ERR_MILLRACE_LOCKED')) throw error;
    const remedy = `${error.message}; "millrace serve ${dir} --read-only" serves what is in segments beside it`;
    throw new MillraceError(error.code, remedy, { details: error.details, cause: error });
  }
}

function serveOptionsOf(options: ServeCommandOptions): ServeOptions {
  const { port, host, token, allowHost, maxBody, maxFollowers, json } = options;
  const secret = token ?? process.env[TOKEN_VARIABLE];
  return {
    port,
    host,
    ...(secret === undefined || secret === '' ? {} : { token: secret }),
    ...(allowHost === undefined ? {} : { allowedHosts: allowHost }),
    ...(maxBody === undefined ? {} : { maxBodyBytes: maxBody }),
    ...(maxFollowers === undefined ? {} : { maxFollowers }),
    onError: (error) => {
      note(
        `a request failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
        json === true,
      );
    },
  };
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
