/** The package as it is published: packed, unpacked into an empty project, and used in every way that it can be. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { build } from 'esbuild';

const ROOT: string = join(import.meta.dirname, '..', '..', '..');
const RUN_MS_MAX = 300_000;

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
}

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest;

let project: string;
const installed = (): string => join(project, 'node_modules', 'millrace');

before(() => {
  project = mkdtempSync(join(tmpdir(), 'millrace-package-'));
  mkdirSync(installed(), { recursive: true });
  const pack = ['pack', '--ignore-scripts', '--silent', '--pack-destination', project];
  const tarball = execFileSync('npm', pack, { cwd: ROOT, encoding: 'utf8' }).trim();
  execFileSync('tar', ['-xzf', join(project, tarball), '-C', installed(), '--strip-components=1']);
  for (const name of Object.keys(manifest.dependencies)) link(name);
  write('package.json', JSON.stringify({ private: true, type: 'module' }));
});

after(() => rmSync(project, { recursive: true, force: true }));

function link(name: string): void {
  const place = join(project, 'node_modules', name);
  mkdirSync(dirname(place), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules', name), place, 'junction');
}

function write(name: string, text: string): void {
  writeFileSync(join(project, name), text);
}

function runNode(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, args, { cwd: project, encoding: 'utf8', timeout: RUN_MS_MAX });
}

/** Appends, flushes through a pool worker, reads back. */
const BODY = `
const store = await open({ dir: process.argv[2], wal: { slots: 2, slotBytes: 65_536 } });
const stream = await store.stream('s');
await stream.append('flour', { key: 'order-1' });
await store.flush();
for await (const record of stream.read()) console.log(record.offset, String(record.key), String(record.value));
await store.close();
`;
const OUTPUT = '0 order-1 flour\n';

function expectOutput(...args: string[]): void {
  const { status, stdout, stderr } = runNode(...args);
  assert.deepEqual({ status, stdout }, { status: 0, stdout: OUTPUT }, stderr);
}

/** Where the workers of a bundled program lie. */
const WORKERS = `
setWorkerFiles({
  wal: new URL('./millrace-wal.mjs', import.meta.url),
  pool: new URL('./millrace-pool.mjs', import.meta.url),
  load: new URL('./millrace-load.mjs', import.meta.url),
});
`;

/** Serves a store, and prints how the server answers. */
const DASHBOARD = `
import { open, setWorkerFiles } from 'millrace';
import { serve } from 'millrace/server';
${WORKERS}
const store = await open({ dir: process.argv[2], wal: { slots: 2, slotBytes: 65_536 } });
const server = await serve(store, { port: 0 });
const answers = ['', 'assets/app.js', 'openapi.json', 'v1/overview'].map((path) => fetch(new URL(path, server.url)));
console.log(...(await Promise.all(answers)).map(({ status }) => status));
await server.close();
await store.close();
`;

suite('installed into an empty project', () => {
  test('an ES module uses it, and the command is there', () => {
    write('app.mjs', `import { open } from 'millrace';${BODY}`);
    expectOutput('app.mjs', 'data-esm');
    const help = runNode(join('node_modules', 'millrace', 'dist', 'bundle', 'cli.js'), '--help');
    assert.match(help.stdout, /Usage: millrace/);
  });

  test('its kernels are found: where they are not, they are done without, and that is slow', () => {
    const hook = `
      import fs from 'node:fs';
      import { syncBuiltinESMExports } from 'node:module';
      import { basename } from 'node:path';
      const read = fs.readFileSync;
      fs.readFileSync = (file, ...options) => {
        const content = read(file, ...options);
        if (String(file).includes('/kernel/')) console.log(basename(String(file)));
        return content;
      };
      syncBuiltinESMExports();
    `;
    write('hook.mjs', hook);
    write('kernels.mjs', `import { open } from 'millrace';${BODY}`);
    const { stdout, stderr } = runNode('--import', './hook.mjs', 'kernels.mjs', 'data-kernels');
    assert.match(stdout, /^chunk\.wasm$/m, stderr);
  });

  const { require_module: canRequire } = process.features as { require_module?: boolean };
  const why = canRequire === true ? false : `${process.version} does not offer require() of ES modules`;
  test('a CommonJS module requires it', { skip: why }, () => {
    write('app.cjs', `const { open } = require('millrace');(async () => {${BODY}})();`);
    expectOutput('--no-warnings', 'app.cjs', 'data-cjs');
  });

  test('TypeScript finds every type, with both ways to resolve modules', () => {
    for (const name of ['@types/node', 'undici-types']) link(name);
    write(
      'app.ts',
      `import { open, type Store, type StreamRecord } from 'millrace';
       export async function first(store: Store): Promise<StreamRecord | undefined> {
         const orders = (await store.stream('orders')).json<{ amount: number }>();
         const amount: number | undefined = (await orders.get(0))?.value?.amount;
         return amount === undefined ? undefined : (await store.stream('orders')).get(0);
       }
       export const opened: Promise<Store> = open('./data');
       // @ts-expect-error: an option that there is none of
       void open({ dir: './data', wall: false });`,
    );
    const common = { target: 'es2023', lib: ['es2023', 'es2024.sharedmemory', 'esnext.disposable'], types: ['node'] };
    const strict = { strict: true, noEmit: true, skipLibCheck: false, exactOptionalPropertyTypes: true };
    for (const modules of [
      { module: 'node16', moduleResolution: 'node16' },
      { module: 'esnext', moduleResolution: 'bundler' },
    ]) {
      write(
        'tsconfig.json',
        JSON.stringify({ compilerOptions: { ...common, ...strict, ...modules }, files: ['app.ts'] }),
      );
      const { status, stdout } = runNode(join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', '.');
      assert.equal(status, 0, `${modules.moduleResolution}: ${stdout}`);
    }
  });

  for (const [subpath, peer] of [
    ['s3', '@aws-sdk/client-s3'],
    ['postgres', 'pg'],
    ['testing', 'fast-check'],
  ] as const) {
    test(`without ${peer} everything works but millrace/${subpath}, which names it`, () => {
      const { status, stderr } = runNode('--input-type=module', '-e', `await import('millrace/${subpath}')`);
      assert.equal(status, 1);
      assert.match(stderr, new RegExp(`Cannot find package '${peer}'`));
    });
  }
});

suite('bundled by esbuild', () => {
  const external = ['piscina', 'lz4-wasm-nodejs', '@aws-sdk/client-s3', 'pg', 'commander', 'cli-progress'];
  const options = { bundle: true, platform: 'node', format: 'esm', splitting: true, logLevel: 'error' } as const;

  test('with millrace left outside, nothing is to be said', async () => {
    write('outside.mjs', `import { open } from 'millrace';${BODY}`);
    const outdir = join(project, 'out-outside');
    await build({
      ...options,
      absWorkingDir: project,
      entryPoints: ['outside.mjs'],
      outdir,
      external: ['millrace'],
      outExtension: { '.js': '.mjs' },
    });
    expectOutput(join(outdir, 'outside.mjs'), 'data-outside');
  });

  test('what runs by being imported stays, though nothing is taken from it', async () => {
    for (const entry of ['cli', 'workers/wal', 'workers/pool', 'workers/load']) {
      const stdin = { contents: `import 'millrace/${entry}';`, resolveDir: project };
      const { outputFiles } = await build({ ...options, splitting: false, external, stdin, write: false });
      assert.ok((outputFiles[0]?.text.length ?? 0) > 1_000, `nothing is left of millrace/${entry}`);
    }
  });

  test('with millrace inside, its workers are entries of their own', async () => {
    write('inside.mjs', `import { open, setWorkerFiles } from 'millrace';${WORKERS}${BODY}`);
    // The command, and with it the server, backups and load tests.
    write('cli.mjs', `import { setWorkerFiles } from 'millrace';${WORKERS}await import('millrace/cli');`);
    write('dashboard.mjs', DASHBOARD);
    const outdir = join(project, 'out-inside');
    await build({
      ...options,
      absWorkingDir: project,
      entryPoints: {
        inside: 'inside.mjs',
        cli: 'cli.mjs',
        dashboard: 'dashboard.mjs',
        'millrace-wal': 'millrace/workers/wal',
        'millrace-pool': 'millrace/workers/pool',
        'millrace-load': 'millrace/workers/load',
      },
      outdir,
      external,
      outExtension: { '.js': '.mjs' },
    });
    const dist = join(installed(), 'dist');
    for (const name of ['kernel', 'dashboard', 'openapi.json']) {
      cpSync(join(dist, 'bundle', name), join(outdir, name), { recursive: true });
    }
    // What lies in the package is not used any more.
    rmSync(dist, { recursive: true });
    expectOutput(join(outdir, 'inside.mjs'), 'data-inside');

    const command = (...args: string[]): unknown => {
      const { status, stdout, stderr } = runNode(join(outdir, 'cli.mjs'), ...args, '--json');
      assert.equal(status, 0, stderr);
      return JSON.parse(stdout);
    };
    const few = ['--threads', '2', '--producers', '2', '--streams', '2', '--rate', '100'];
    const short = ['--seconds', '1', '--warm-up', '0', '--slots', '2', '--slot-bytes', '65536', '--followers', '0'];
    // Its exit code says whether the machine kept up.
    const load = runNode(join(outdir, 'cli.mjs'), 'load', 'data-load', ...few, ...short, '--json');
    const { acknowledged } = JSON.parse(load.stdout) as { acknowledged: number };
    assert.ok(acknowledged > 0, load.stderr);
    const { copiedObjects } = command('backup', 'data-load', 'backup') as { copiedObjects: number };
    assert.ok(copiedObjects > 0);
    command('verify', 'data-load');

    const { stdout, stderr } = runNode(join(outdir, 'dashboard.mjs'), 'data-served');
    assert.deepEqual(stdout.trim().split(' '), ['200', '200', '200', '200'], stderr);
  });
});
