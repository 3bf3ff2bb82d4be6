/** A program for tests: finds the engine without downloading it, on PATH or in the cache folder that is its argument. */
import { reportError } from '../../src/cli/program.ts';
import { findEngineProgram } from '../../src/local/engine/program.ts';

const [cache = ''] = process.argv.slice(2);
const say = (line: string) => void process.stdout.write(`${line}\n`);
try {
  say(`found ${await findEngineProgram({ cache, progress: say, without: ['download'] })}`);
} catch (error) {
  process.exit(reportError(error, process.stderr));
}
