/**
 * Makes a checkout ready to run, from nothing but Node and npm: installs the locked dependencies and builds, each only
 * if it is missing or stale. Takes a fraction of a second when there is nothing to do.
 */
import { pathToFileURL } from 'node:url';
import { ensureBuilt } from './build.mjs';
import { ensureDependencies } from './dependencies.mjs';

/** What the linter and the test runner's options need; the package itself runs on any Node 20. */
const NODE_MIN = { major: 20, minor: 19 };

/** Ends the process with a message instead of a stack: what fails here fails for reasons outside this script. */
export async function prepare() {
  try {
    checkNode();
    await ensureDependencies();
    await ensureBuilt();
  } catch (error) {
    console.error(`millrace: ${error.message}`);
    process.exit(1);
  }
}

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > NODE_MIN.major || (major === NODE_MIN.major && minor >= NODE_MIN.minor)) return;
  throw new Error(`Node ${NODE_MIN.major}.${NODE_MIN.minor} or newer is needed, this is ${process.version}`);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) await prepare();
