/**
 * Bundles the workflows' code, sends the bundle to the parent process and ends. It is a process of its own because a
 * bundler needs 160 MB, which a worker would keep for as long as it runs.
 */
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';

function ignore(): void {
  // Drops the line: the progress of bundling is of no use to an operator.
}

// The parent no longer waits for the bundle.
process.once('disconnect', () => process.exit(1));
const workflowsPath = fileURLToPath(new URL('../../../workflows/index.ts', import.meta.url));
const bundle = await bundleWorkflowCode({
  workflowsPath,
  // Otherwise each run would load all modules for itself.
  preloadModules: [workflowsPath],
  logger: {
    log: ignore,
    trace: ignore,
    debug: ignore,
    info: ignore,
    warn: console.warn,
    error: console.error,
  },
});
process.send?.(bundle, () => process.exit(0));
