import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { WorkflowBundle } from '@temporalio/worker';

const PROGRAM = fileURLToPath(new URL('./bundle-program.ts', import.meta.url));

let bundling: Promise<WorkflowBundle> | undefined;

function bundleInChild(): Promise<WorkflowBundle> {
  return new Promise((resolve, reject) => {
    const child = fork(PROGRAM, {
      execArgv: ['--no-warnings'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    child
      .once('message', (bundle) => resolve(bundle as WorkflowBundle))
      .once('error', reject)
      // Comes after the message, and then changes nothing. "exit" could come before it.
      .once('close', (code, signal) =>
        reject(
          new Error(
            `the workflows cannot be bundled (${signal ?? `exit code ${code}`}): see the output above`,
          ),
        ),
      );
  });
}

/**
 * Bundles the workflows' code once per process. A child process does this, in about 2 s.
 * @throws Error if it fails; the next call tries again
 */
export function bundleWorkflows(): Promise<WorkflowBundle> {
  bundling ??= bundleInChild().catch((error: unknown) => {
    bundling = undefined;
    throw error;
  });
  return bundling;
}
