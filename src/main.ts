#!/usr/bin/env node
import { buildProgram } from './cli/program.ts';
import { report } from './cli/report.ts';

try {
  await buildProgram().parseAsync();
} catch (error) {
  process.exitCode = report(error);
}
