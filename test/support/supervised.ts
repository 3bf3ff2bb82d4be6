/** A program for tests: starts what `carillon start --dev` starts, with fake roles. */
import { fileURLToPath } from 'node:url';
import { reportError } from '../../src/cli/program.ts';
import { startEverything } from '../../src/cli/start-everything.ts';

const fakeRole = fileURLToPath(new URL('./fake-role.ts', import.meta.url));

try {
  await startEverything({
    env: process.env,
    dev: true,
    reset: process.argv.includes('--reset'),
    json: true,
    roleCommand: [process.execPath, '--no-warnings', fakeRole],
  });
} catch (error) {
  process.exit(reportError(error, process.stderr));
}
