/** A real browser for tests: Debian's Chromium, found on the machine or installed from Debian's packages. */
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';
import { hasProgram, run } from './child-processes.ts';

const PROGRAM = '/usr/bin/chromium';
const INSTALL_TIMEOUT = 240_000;
/** Nothing but what the test asks for leaves the machine. */
const ARGUMENTS: readonly string[] = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** A running browser, or why there can be none on this machine. */
export async function startChromium(): Promise<{ browser: Browser } | { missing: string }> {
  if (!existsSync(PROGRAM)) {
    if (!hasProgram('apt-get')) return { missing: 'no Chromium, and no apt-get to install it' };
    if (process.getuid?.() !== 0) return { missing: 'no Chromium, and only root may install it' };
    try {
      await run('apt-get', ['update'], INSTALL_TIMEOUT);
      const patience = ['-o', 'DPkg::Lock::Timeout=120'];
      await run('apt-get', [...patience, 'install', '-y', '--no-install-recommends', 'chromium'], INSTALL_TIMEOUT);
    } catch (error) {
      return { missing: `no Chromium, and apt-get could not install it: ${String(error)}` };
    }
  }
  try {
    return { browser: await chromium.launch({ executablePath: PROGRAM, args: [...ARGUMENTS] }) };
  } catch (error) {
    return { missing: `Chromium does not start here: ${String(error)}` };
  }
}
