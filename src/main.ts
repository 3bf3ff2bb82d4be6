#!/usr/bin/env node
import { runCommand } from './cli/program.ts';

// A reader, such as head, may end before the command has written everything. The command finishes its work all the same.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });

const code = await runCommand(process.argv.slice(2), process);
// Exit at once: a role that failed while starting may have left connections open, which keep the process alive.
if (code !== 0) process.exit(code);
