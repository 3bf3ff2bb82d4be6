#!/usr/bin/env node
import { CommanderError } from 'commander';
import { buildProgram } from './cli/program.ts';
import { ConfigError } from './config.ts';
import { AppError } from './errors.ts';
import { LocalError } from './local/machine/local-error.ts';

/**
 * Tell an error to whoever typed the command: a line for what they can put right, a stack for our own faults.
 * @returns the exit code
 */
export function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode;
  const expected = error instanceof LocalError || error instanceof ConfigError || error instanceof AppError;
  const text =
    expected || !(error instanceof Error) ? (error as Error).message : (error.stack ?? error.message);
  process.stderr.write(`carillon: ${text}\n`);
  return 1;
}

try {
  await buildProgram().parseAsync();
} catch (error) {
  // At once: a role that failed half-way may hold connections, and its parent's channel, open.
  process.exit(report(error));
}
