import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { loadConfig, requireSettings, type Config } from '../config.ts';
import { developmentSettings } from '../local/home/settings.ts';
import { READY } from '../local/supervisor/role-process.ts';
import type { RoleName } from '../roles/names.ts';
import { takeStopRequests } from './stop-requests.ts';

/** A role that serves until it is stopped. */
export interface RunningRole {
  /** Finish what was begun, at most SHUTDOWN_GRACE_SECONDS, and let go of everything. */
  stop(): Promise<void>;
}

/** What a module in `src/roles/` exports. */
export interface RoleModule {
  /** Resolves once the role can do its work. */
  run(config: Config): Promise<RunningRole>;
}

/** Loaded when asked for, so that a role's process holds only what it needs. */
async function loadRole(role: RoleName): Promise<RoleModule> {
  const module: unknown = await import(new URL(`../roles/${role}.ts`, import.meta.url).href);
  return module as RoleModule;
}

async function roleConfig(dev: boolean): Promise<Config> {
  const config = loadConfig();
  const home = resolve(config.CARILLON_HOME);
  if (dev || config.CARILLON_DEV) await mkdir(home, { recursive: true });
  const complete = dev || config.CARILLON_DEV ? await developmentSettings(config, home) : config;
  return { ...complete, ...requireSettings(complete, 'DATABASE_URL', 'APP_SECRET', 'EMAIL_PROVIDER_URL') };
}

/**
 * Run one role in this process until it is asked to stop.
 * @throws ConfigError naming the settings that are missing
 */
export async function startRole(role: RoleName, options: { dev: boolean }): Promise<void> {
  const config = await roleConfig(options.dev);
  const requests = takeStopRequests();
  // The end of the parent that started us.
  if (process.connected) process.once('disconnect', () => requests.ask());
  const running = await (await loadRole(role)).run(config);
  process.send?.(READY);
  await requests.first;
  await running.stop();
  // Whatever is still open must not keep a process alive that has finished its work.
  process.exit(0);
}
