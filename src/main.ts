#!/usr/bin/env node
import { buildProgram } from './cli/program.ts';
import { report } from './cli/report.ts';

try {
  await buildProgram().parseAsync();
} catch (error) {
  // At once: a role that failed half-way may hold connections, and its parent's channel, open.
  process.exit(report(error));
}
