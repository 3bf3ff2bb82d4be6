import { loadConfig } from '../../src/config.ts';
import { cacheFolder, type Progress } from '../../src/local/cache.ts';
import { findEngineProgram } from '../../src/local/engine-program.ts';
import { engineService } from './engine-service.ts';
import { keepForTeardown } from './run-state.ts';
import { startTestServices } from './test-services.ts';
import { findTimeSkippingServer } from './time-skipping/server.ts';

const progress: Progress = (line) => process.stderr.write(`${line}\n`);

/** On a bare machine this takes minutes, so it is not left to a test's time limit. */
async function getTools(cache: string): Promise<void> {
  const tools = [() => findEngineProgram({ cache, progress }), () => findTimeSkippingServer(cache, progress)];
  for (const tool of tools) {
    // The tests that need it fail with the reason; the others need not.
    await tool().catch((error: Error) => progress(error.message));
  }
}

/** Runs once before all test files, in Jest's own process. */
export default async function setUp(): Promise<void> {
  const config = loadConfig();
  const cache = await cacheFolder(config.CARILLON_CACHE, config.XDG_CACHE_HOME);
  await getTools(cache);
  const services = await startTestServices({ engine: engineService(cache) });
  process.env.CARILLON_TEST_SERVICES = services.address;
  keepForTeardown(services);
}
