#!/usr/bin/env node
/**
 * Starts the `carillon` command, whichever Node.js runs this file: `../main.ts` needs the version that `npm ci` installs
 * beside the other packages. This file is JavaScript so that older versions can read it.
 */
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath, URL } from 'node:url';

const NEEDED = 24;
const version = process.versions.node;

/** The Node.js among the packages, or null if it is not installed, as in a container. */
function installedNode() {
  try {
    const description = createRequire(import.meta.url).resolve('node/package.json');
    return join(dirname(description), 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
  } catch {
    return null;
  }
}

/** @returns {never} */
function giveUp() {
  process.stderr.write(
    `carillon: Node.js ${NEEDED} or newer is needed, and this is ${version}: run npm ci, which installs it (without --ignore-scripts)\n`,
  );
  process.exit(1);
}

/** Runs the command with another Node.js: passes signals on, and ends as it ends. */
function runWith(/** @type {string} */ node) {
  const main = fileURLToPath(new URL('../main.ts', import.meta.url));
  const child = spawn(node, ['--no-warnings', main, ...process.argv.slice(2)], {
    stdio: 'inherit',
    // As behind npm: a role ends when its parent is gone.
    env: { npm_lifecycle_event: 'carillon', ...process.env },
  });
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
    process.on(signal, () => child.kill(signal));
  child.on('error', giveUp);
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal ?? 'SIGKILL']));
}

if (Number.parseInt(version, 10) >= NEEDED) {
  await import('../main.ts');
} else {
  const node = installedNode();
  if (node === null) giveUp();
  runWith(node);
}
