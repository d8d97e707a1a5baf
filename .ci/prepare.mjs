/**
 * Makes a checkout ready to run, from nothing but Node and npm: installs the locked dependencies and builds, each only
 * if it is missing or stale. Takes a fraction of a second when there is nothing to do.
 */
import { pathToFileURL } from 'node:url';
import { ensureBuilt } from './build.mjs';
import { ensureDependencies } from './dependencies.mjs';

const NODE_MAJOR_MIN = 20;

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
  const major = Number(process.versions.node.split('.')[0]);
  if (major < NODE_MAJOR_MIN) throw new Error(`Node ${NODE_MAJOR_MIN} or newer is needed, this is ${process.version}`);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) await prepare();
