/** Starts programs in the repository, with this terminal as theirs. */
import { spawn } from 'node:child_process';
import { ROOT } from './paths.mjs';

/** Runs `program` to its end and resolves with its exit code; a signal counts as a failure. */
export function run(program, args, options = {}) {
  return new Promise((resolve, reject) => {
    // An interrupt reaches the whole process group: the child ends first, and this process reports how.
    const ignore = () => {};
    process.on('SIGINT', ignore);
    const child = spawn(program, args, { cwd: ROOT, stdio: 'inherit', ...options });
    child.on('error', reject);
    child.on('close', (code, signal) => {
      process.off('SIGINT', ignore);
      resolve(code ?? (signal === 'SIGINT' ? 130 : 1));
    });
  });
}

/** Runs a JavaScript file with this same Node. */
export function runNode(args, options = {}) {
  return run(process.execPath, args, options);
}

/** Runs npm: the one that started this script, or else the one on the path. */
export function runNpm(args, options = {}) {
  const npm = process.env.npm_execpath;
  if (npm !== undefined && npm.endsWith('.js')) return runNode([npm, ...args], options);
  return run('npm', args, { shell: process.platform === 'win32', ...options });
}
