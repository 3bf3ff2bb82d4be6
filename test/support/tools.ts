import { loadConfig } from '../../src/config.ts';
import { findEngineProgram } from '../../src/local/engine/program.ts';
import { cacheFolder, type Progress } from '../../src/local/machine/cache.ts';
import { findTimeSkippingServer } from './time-skipping/server.ts';

const progress: Progress = (line) => process.stderr.write(`${line}\n`);

/**
 * Get the Temporal engine and the time-skipping server into the cache. On a bare machine this takes minutes, so it
 * is not left to a test's time limit; whoever asks meanwhile waits for the one who began.
 * @returns the cache's folder
 */
export async function getTools(): Promise<string> {
  const config = loadConfig();
  const cache = await cacheFolder(config.CARILLON_CACHE, config.XDG_CACHE_HOME);
  const tools = [() => findEngineProgram({ cache, progress }), () => findTimeSkippingServer(cache, progress)];
  for (const tool of tools) {
    // The tests that need it fail with the reason; the others need not.
    await tool().catch((error: Error) => progress(error.message));
  }
  return cache;
}
