import { TestWorkflowEnvironment } from '@temporalio/testing';
import { findTimeSkippingServer } from './time-skipping/server.ts';
import { toolCache } from './tools.ts';

const MAX_TRIES = 6;

/** The SDK waits five seconds for the server. On a busy machine, a JVM may take longer, so try again. */
async function startServer(path: string): Promise<TestWorkflowEnvironment> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await TestWorkflowEnvironment.createTimeSkipping({
        server: { executable: { type: 'existing-path', path } },
      });
    } catch (error) {
      if (tries === MAX_TRIES || !/did not start within/.test((error as Error).message)) throw error;
    }
  }
}

/**
 * Starts an engine whose clock jumps to the next timer while a test awaits a workflow's result or calls `sleep`. The
 * engine cannot list workflows and has no Schedules. Call `teardown` in `afterAll`.
 */
export async function createTimeSkippingEnvironment(): Promise<TestWorkflowEnvironment> {
  const path = await findTimeSkippingServer(await toolCache(), (line) => process.stderr.write(`${line}\n`));
  return startServer(path);
}
