#!/usr/bin/env node
import { runCommand } from './cli/program.ts';

const code = await runCommand(process.argv.slice(2), process);
// Exit at once: a role that failed while starting may have left connections open, which keep the process alive.
if (code !== 0) process.exit(code);
