import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../../src/config.ts';
import { findEngineProgram } from '../../../src/local/engine/program.ts';
import { startEngine, type EngineServer } from '../../../src/local/engine/server.ts';
import { cacheFolder } from '../../../src/local/machine/cache.ts';
import { createGuard } from '../../../src/local/machine/guard.ts';
import { claimPort } from '../../../src/local/machine/ports.ts';

/** An engine of one test, which the test can stop, restart, and make lose its data. */
export interface OwnEngine {
  /** Does not change with a restart. */
  address: string;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Removes its database. Stop it first. */
  forget(): Promise<void>;
  close(): Promise<void>;
}

/** Prepares an engine; call `start` to run it. */
export async function createOwnEngine(): Promise<OwnEngine> {
  const config = loadConfig();
  const cache = await cacheFolder(config.CARILLON_CACHE, config.XDG_CACHE_HOME);
  const program = await findEngineProgram({ cache, progress: (line) => process.stderr.write(`${line}\n`) });
  const folder = await mkdtemp(join(tmpdir(), 'carillon-engine-'));
  const state = join(folder, 'state');
  const port = await claimPort(0, 'TEMPORAL_PORT');
  const guard = createGuard();
  let server: EngineServer | null = null;
  const stop = async () => {
    await server?.stop();
    server = null;
  };
  return {
    address: `127.0.0.1:${port}`,
    async start() {
      server = await startEngine({ program, folder: state, port, uiPort: null, guard });
    },
    stop,
    forget: () => rm(state, { recursive: true, force: true }),
    async close() {
      await stop();
      await guard.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
