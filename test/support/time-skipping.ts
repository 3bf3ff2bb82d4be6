import { TestWorkflowEnvironment } from '@temporalio/testing';
import { loadConfig } from '../../src/config.ts';
import { cacheFolder } from '../../src/local/cache.ts';
import { findTimeSkippingServer } from './time-skipping/server.ts';

/**
 * An engine whose clock jumps to the next timer while a test awaits a workflow's result or `sleep`s.
 * It has no list of workflows and no Schedules. Call `teardown` in `afterAll`.
 */
export async function createTimeSkippingEnvironment(): Promise<TestWorkflowEnvironment> {
  const config = loadConfig();
  const cache = await cacheFolder(config.CARILLON_CACHE, config.XDG_CACHE_HOME);
  const path = await findTimeSkippingServer(cache, (line) => process.stderr.write(`${line}\n`));
  return TestWorkflowEnvironment.createTimeSkipping({
    server: { executable: { type: 'existing-path', path } },
  });
}
