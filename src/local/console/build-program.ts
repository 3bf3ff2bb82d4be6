/** `npm run console`: builds the pages of the console, also if they are not older than their sources. */
import { provideConsole } from './build.ts';

const progress = (line: string) => void process.stderr.write(`${line}\n`);
if ((await provideConsole({ progress, always: true })) !== 'current') process.exitCode = 1;
