/** A copy of the compiled tree in which one file at a time is wrong. The working tree is never touched. */
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import ts from 'typescript';
import { plant, type PlantedBug } from './bug.ts';

/** The repository; this file is compiled to `dist/test/planted`. */
export const ROOT: string = resolve(import.meta.dirname, '../../..');
/** What no compiled file loads; and the bundle, in which no bug is planted: a test that runs it is red without one. */
const LEFT_OUT = /(\.d\.ts|\.map|\.tsbuildinfo)$|[\\/]dist[\\/]bundle$/;

/** As `npm run build` compiles it, file by file and without types. */
const COMPILATION: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.ESNext,
  isolatedModules: true,
  verbatimModuleSyntax: true,
  rewriteRelativeImportExtensions: true,
};

function compile(path: string, text: string): string {
  const output = ts.transpileModule(text, { fileName: path, reportDiagnostics: true, compilerOptions: COMPILATION });
  const [problem] = output.diagnostics ?? [];
  if (problem !== undefined) throw new Error(`${path}: ${ts.flattenDiagnosticMessageText(problem.messageText, ' ')}`);
  return output.outputText;
}

export class ScratchTree {
  readonly root: string;
  /** For what tests leave behind when they are ended early. */
  readonly temporary: string;

  constructor() {
    this.root = mkdtempSync(join(tmpdir(), 'millrace-planted-'));
    // PostgreSQL runs as a user of its own, and has to get at its files.
    chmodSync(this.root, 0o711);
    this.temporary = join(this.root, 'tmp');
    mkdirSync(this.temporary);
    cpSync(join(ROOT, 'dist'), join(this.root, 'dist'), { recursive: true, filter: (path) => !LEFT_OUT.test(path) });
    // Tests read pages, fixtures and sources through the root of the repository.
    for (const name of readdirSync(ROOT)) {
      if (name !== 'dist' && !name.startsWith('.')) symlinkSync(join(ROOT, name), join(this.root, name));
    }
  }

  /** Plants a bug around `work`. */
  async with<T>(bug: PlantedBug, work: () => Promise<T>): Promise<T> {
    const compiled = join('dist', bug.file.replace(/\.ts$/, '.js'));
    const wrong = compile(bug.file, plant(readFileSync(join(ROOT, bug.file), 'utf8'), bug));
    writeFileSync(join(this.root, compiled), wrong);
    try {
      return await work();
    } finally {
      cpSync(join(ROOT, compiled), join(this.root, compiled));
    }
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}
