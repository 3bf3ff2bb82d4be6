#!/usr/bin/env node
import { buildProgram, reportError } from './cli/program.ts';

try {
  await buildProgram().parseAsync();
} catch (error) {
  // Exit at once: a role that failed while starting may have left connections open, which keep the process alive.
  process.exit(reportError(error));
}
