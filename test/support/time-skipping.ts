import { TestWorkflowEnvironment } from '@temporalio/testing';
import { loadConfig } from '../../src/config.ts';
import { cacheFolder } from '../../src/local/machine/cache.ts';
import { findTimeSkippingServer } from './time-skipping/server.ts';

const TRIES = 6;

/** The SDK waits five seconds for the server; on a busy machine a JVM may take longer to come up. */
async function startServer(path: string): Promise<TestWorkflowEnvironment> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await TestWorkflowEnvironment.createTimeSkipping({
        server: { executable: { type: 'existing-path', path } },
      });
    } catch (error) {
      if (tries === TRIES || !/did not start within/.test((error as Error).message)) throw error;
    }
  }
}

/**
 * An engine whose clock jumps to the next timer while a test awaits a workflow's result or `sleep`s.
 * It has no list of workflows and no Schedules. Call `teardown` in `afterAll`.
 */
export async function createTimeSkippingEnvironment(): Promise<TestWorkflowEnvironment> {
  const config = loadConfig();
  const cache = await cacheFolder(config.CARILLON_CACHE, config.XDG_CACHE_HOME);
  const path = await findTimeSkippingServer(cache, (line) => process.stderr.write(`${line}\n`));
  return startServer(path);
}
