import { join } from 'node:path';
import { findEngineProgram } from '../../src/local/engine/program.ts';
import { startEngine } from '../../src/local/engine/server.ts';
import { bundleWorkflows } from '../../src/platform/temporal/bundle.ts';
import type { Service } from './test-services.ts';

/** The development server that all test files of a run share. */
export interface EngineService {
  address: string;
}

/** @param cache the folder that contains the engine's program */
export function engineService(cache: string): Service {
  return async (guard, folder) => {
    const program = await findEngineProgram({ cache, progress: (line) => process.stderr.write(`${line}\n`) });
    const server = await startEngine({
      program,
      folder: join(folder, 'temporal'),
      port: 0,
      uiPort: null,
      guard,
    });
    const answer: EngineService = { address: server.address };
    return { answer, stop: () => server.stop() };
  };
}

/** Bundles the workflows once for all test files, because it takes some 3 s of processor time. */
export const workflowBundleService: Service = async () => {
  return { answer: await bundleWorkflows(), stop: () => Promise.resolve() };
};
