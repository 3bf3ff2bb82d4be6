import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { loadConfig, requireSettings, type Config } from '../config.ts';
import { developmentSettings } from '../local/home/settings.ts';
import { READY, restartWithFlags } from '../local/supervisor/role-process.ts';
import type { RoleName } from '../roles/names.ts';
import type { CommandIo } from './command.ts';
import { endWithNpm, takeStopRequests } from './stop-requests.ts';

/** A role that works until it is stopped. */
export interface RunningRole {
  /** Finishes the work in progress, for at most the role's grace time, and releases every resource. */
  stop(): Promise<void>;
}

/** The exports of a module in `src/roles/`. */
export interface RoleModule {
  /** Resolves once the role is ready. Waits while the database is unavailable. */
  run(config: Config): Promise<RunningRole>;
}

interface StartRoleOptions {
  dev: boolean;
  /** The settings. */
  env: CommandIo['env'];
}

/** Imports a role on demand, so that its process loads only what it needs. */
async function loadRole(role: RoleName): Promise<RoleModule> {
  const module: unknown = await import(new URL(`../roles/${role}.ts`, import.meta.url).href);
  return module as RoleModule;
}

async function roleConfig({ dev, env }: StartRoleOptions): Promise<Config> {
  const config = loadConfig(env);
  const home = resolve(config.CARILLON_HOME);
  if (dev || config.CARILLON_DEV) await mkdir(home, { recursive: true });
  const complete = dev || config.CARILLON_DEV ? await developmentSettings(config, home) : config;
  return { ...complete, ...requireSettings(complete, 'DATABASE_URL', 'APP_SECRET', 'EMAIL_PROVIDER_URL') };
}

/**
 * Runs one role in this process until it is asked to stop.
 * @throws ConfigError naming the missing settings
 */
export async function startRole(role: RoleName, options: StartRoleOptions): Promise<void> {
  restartWithFlags(role);
  const config = await roleConfig(options);
  const requests = takeStopRequests();
  endWithNpm(config, requests);
  // The supervisor that started this process has ended.
  if (process.connected) process.once('disconnect', () => requests.ask());
  let ready = false;
  void requests.first.then(() => {
    // No work is in progress yet; the role may be waiting for its database.
    if (!ready) process.exit(0);
  });
  const running = await (await loadRole(role)).run(config);
  ready = true;
  process.send?.(READY);
  await requests.first;
  await running.stop();
  // An open handle must not keep the process alive now that its work is finished.
  process.exit(0);
}
