import type { Logger } from 'pino';
import { childEnvironment, mailboxUrl, type Config } from '../../config.ts';
import { openDatabase } from '../../platform/db/database.ts';
import { ensureDemo, type Demo } from '../demo.ts';
import { findEngineProgram } from '../engine/program.ts';
import { endLeftoverEngine, startEngine, type EngineServer } from '../engine/server.ts';
import { createDevFileWriter, readDevFile, type DevFile, type Pids } from '../home/dev-file.ts';
import type { Home } from '../home/home.ts';
import { createProcessRecord } from '../home/process-record.ts';
import { asVariables } from '../home/settings.ts';
import { cacheFolder, type Progress } from '../machine/cache.ts';
import { createGuard, type Guard } from '../machine/guard.ts';
import { claimPorts } from '../machine/ports.ts';
import { ensureDatabase, migrateDatabase, type Migration } from '../postgres/database.ts';
import { endLeftoverPostgres, startPostgres, type PostgresServer } from '../postgres/server.ts';
import { keepRunning, type Managed, type Running } from './managed.ts';
import { startRoleProcess } from './role-process.ts';

type SupervisedRole = Exclude<keyof Pids, 'temporal' | 'postgres'>;

interface SupervisorOptions {
  /** Must have APP_SECRET and EMAIL_PROVIDER_URL. A database or engine without an address is embedded. */
  config: Config;
  home: Home;
  roles: readonly SupervisedRole[];
  /** Every partitioned table, and every column of sealed values. */
  upkeep: Migration;
  /** The program that starts a role, with its arguments; the role's name is added. */
  roleCommand: string[];
  /** Runs while database and engine start, and ends before the roles start. It must not fail. */
  prepare?: () => Promise<unknown>;
  log: Logger;
  progress: Progress;
}

export interface Supervisor {
  /** The content of `dev.json`; null without `--dev`. */
  readonly devFile: DevFile | null;
  /** Stops the roles, then engine and database. */
  stop(): Promise<void>;
  /** Ends all processes at once, without letting them finish. May be called while {@link Supervisor.stop} waits. */
  endNow(): Promise<void>;
}

/** What runs. `stops` are called in reverse order. */
interface State {
  options: SupervisorOptions;
  config: Config;
  guard: Guard;
  pids: Pids;
  stops: (() => Promise<unknown>)[];
  /** Writes the current `pids` to `dev.json`. */
  writePids: () => Promise<unknown>;
}

const NO_PIDS: Pids = {
  api: null,
  worker: null,
  sender: null,
  mail: null,
  submission: null,
  temporal: null,
  postgres: null,
};

/** Shorter than in production, because in development a person waits for the restart. */
const DEVELOPMENT_MAX_DELAY_MS = 5_000;

function pidSetter(state: State, name: keyof Pids): (pid: number | null) => void {
  return (pid) => {
    state.pids[name] = pid;
    void state.writePids();
  };
}

function keep(state: State, name: keyof Pids, start: () => Promise<Running>): Promise<Managed> {
  return keepRunning({
    name,
    start,
    onPid: pidSetter(state, name),
    log: state.options.log,
    ...(state.config.CARILLON_DEV ? { maxDelayMs: DEVELOPMENT_MAX_DELAY_MS } : {}),
  });
}

/** Returns the URL of the database: the one that is set, or of an embedded server, which it starts. */
async function provideDatabase(state: State): Promise<string> {
  const { config, guard, options } = state;
  if (config.DATABASE_URL) return config.DATABASE_URL;
  const folder = options.home.path('postgres');
  const onLog = (line: string) => options.log.debug({ child: 'postgres' }, line);
  const port = config.POSTGRES_PORT;
  let server: PostgresServer | undefined;
  const managed = await keep(state, 'postgres', async () => {
    server = await startPostgres({ folder, port, guard, onLog });
    return server;
  });
  state.stops.push(() => managed.stop());
  const started = server as PostgresServer;
  if (!started.dataFolder.startsWith(folder)) {
    options.progress(`the database is in ${started.dataFolder}: its user cannot enter ${folder}`);
  }
  return ensureDatabase(started);
}

/** Returns the address of the engine: the one that is set, or of an embedded one, which it starts, with its Web UI. */
async function provideEngine(state: State): Promise<{ address: string; uiUrl: string | null }> {
  const { config, guard, options } = state;
  if (config.TEMPORAL_ADDRESS) return { address: config.TEMPORAL_ADDRESS, uiUrl: null };
  const cache = await cacheFolder(config.CARILLON_CACHE, config.XDG_CACHE_HOME);
  const program = await findEngineProgram({ cache, progress: options.progress });
  const onLog = (line: string) => options.log.debug({ child: 'temporal' }, line);
  const folder = options.home.path('temporal');
  let server: EngineServer | undefined;
  const managed = await keep(state, 'temporal', async () => {
    const { TEMPORAL_PORT: port, TEMPORAL_UI_PORT: uiPort } = config;
    server = await startEngine({ program, folder, port, uiPort, guard, onLog });
    return server;
  });
  state.stops.push(() => managed.stop());
  const { address, uiPort } = server as EngineServer;
  return { address, uiUrl: `http://127.0.0.1:${uiPort}` };
}

/** Starts both at the same time. If one fails, waits for the other nevertheless, so that `stops` contains it. */
async function provideBoth(state: State) {
  const [database, engine] = await Promise.allSettled([provideDatabase(state), provideEngine(state)]);
  if (database.status === 'rejected') throw database.reason;
  if (engine.status === 'rejected') throw engine.reason;
  return { databaseUrl: database.value, engine: engine.value };
}

function localUrl(config: Config): string {
  const everywhere = ['0.0.0.0', '::', '127.0.0.1'].includes(config.HOST);
  return `http://${everywhere ? '127.0.0.1' : config.HOST}:${config.PORT}`;
}

/** Where programs of this machine submit mail. */
function smtpUrl({ SUBMISSION_LISTEN_HOST: host, SUBMISSION_PORTS: [port] = [] }: Config): string | null {
  return port === undefined ? null : `smtp://${host}:${port}`;
}

type PortSetting =
  'PORT' | 'MAIL_PORT' | 'MAILBOX_PORT' | 'POSTGRES_PORT' | 'TEMPORAL_PORT' | 'TEMPORAL_UI_PORT';

const submissionSettings = ['SUBMISSION_PORTS', 'SUBMISSION_TLS_PORTS'] as const;

/** Without these settings, the role does not run beside the others. */
const submissionClaims = (config: Config) =>
  submissionSettings.flatMap((setting) =>
    (config[setting] ?? []).map((port) => ({ setting, port, host: config.SUBMISSION_LISTEN_HOST })),
  );

/** Checks the ports before anything starts: building the engine may take minutes, too late to report a taken port. */
async function claimOwnPorts(config: Config, home: Home): Promise<Config> {
  await Promise.all([endLeftoverPostgres(home.path('postgres')), endLeftoverEngine(home.path('temporal'))]);
  const settings: PortSetting[] = ['PORT', 'MAIL_PORT'];
  const hosts: Partial<Record<PortSetting, string>> = {
    PORT: config.HOST,
    MAIL_PORT: config.MAIL_LISTEN_HOST,
  };
  if (config.CARILLON_DEV) settings.push('MAILBOX_PORT');
  if (!config.DATABASE_URL) settings.push('POSTGRES_PORT');
  if (!config.TEMPORAL_ADDRESS) settings.push('TEMPORAL_PORT', 'TEMPORAL_UI_PORT');
  const own = settings.map((setting) => ({ setting, port: config[setting], host: hosts[setting] }));
  const ports = await claimPorts([...own, ...submissionClaims(config)]);
  const claimed = {
    ...config,
    ...Object.fromEntries(own.map(({ setting }) => [setting, ports.shift()])),
    ...Object.fromEntries(
      submissionSettings.map((setting) => [setting, config[setting]?.map(() => ports.shift())]),
    ),
  };
  return { ...claimed, PUBLIC_URL: config.PUBLIC_URL ?? localUrl(claimed) };
}

function demoOf(file: DevFile | null): Demo | null {
  if (!file) return null;
  const { api_key, email, password, account_id, brand_id } = file;
  return { apiKey: api_key, email, password, accountId: account_id, brandId: brand_id };
}

async function demoIn(databaseUrl: string, kept: Demo | null): Promise<Demo> {
  const database = openDatabase({ url: databaseUrl, poolMax: 2, applicationName: 'carillon start' });
  try {
    return await ensureDemo(database, kept);
  } finally {
    await database.close();
  }
}

/** Creates the demo account and `dev.json`, and from then on keeps its process ids current. */
async function writeDevFile(state: State, uiUrl: string | null): Promise<DevFile> {
  const { config, options, pids } = state;
  const path = options.home.path('dev.json');
  const databaseUrl = config.DATABASE_URL as string;
  const demo = await demoIn(databaseUrl, demoOf(await readDevFile(path)));
  const writer = createDevFileWriter(path);
  const content: DevFile = {
    base_url: localUrl(config),
    console_url: `${config.PUBLIC_URL as string}/console`,
    api_key: demo.apiKey,
    email: demo.email,
    password: demo.password,
    account_id: demo.accountId,
    brand_id: demo.brandId,
    temporal_address: config.TEMPORAL_ADDRESS as string,
    temporal_ui_url: uiUrl,
    database_url: databaseUrl,
    mailbox_url: mailboxUrl(config.MAILBOX_PORT, config.MAILBOX_TOKEN ?? ''),
    smtp_url: smtpUrl(config),
    pids,
  };
  const write = () =>
    writer.write(content).catch((error: unknown) => options.log.error({ err: error }, 'dev.json'));
  state.writePids = write;
  // Stops run in reverse order: by the time of this last write all process ids are null.
  state.stops.unshift(write);
  await write();
  return content;
}

/** Longer than the role may take by its settings: the rest of its stop takes moments. */
const FURTHER_GRACE_MS = 10_000;

function graceMsOf(role: SupervisedRole, config: Config): number {
  const seconds = role === 'sender' ? config.SENDER_GRACE_SECONDS : config.SHUTDOWN_GRACE_SECONDS;
  return seconds * 1_000 + FURTHER_GRACE_MS;
}

async function startRoles(state: State): Promise<void> {
  const { config, guard, options } = state;
  const environment = childEnvironment(asVariables(config));
  const started = await Promise.allSettled(
    options.roles.map((role) =>
      keep(state, role, () =>
        startRoleProcess({
          role,
          command: options.roleCommand,
          environment,
          graceMs: graceMsOf(role, config),
          guard,
        }),
      ),
    ),
  );
  const running = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  state.stops.push(() => Promise.all(running.map((managed) => managed.stop())));
  for (const one of started) if (one.status === 'rejected') throw one.reason;
}

/** Someone who waits longer than this learns what for. */
const EXPLAIN_AFTER_MS = 2_000;

function explainWait({ config, options, pids }: State): void {
  const running = options.roles.filter((role) => pids[role] !== null);
  if (running.length === 0) return;
  const names = running.map((role) => `the ${role}`).join(' and ');
  const seconds = Math.max(...running.map((role) => graceMsOf(role, config) / 1_000));
  const risk = running.includes('sender') ? ', and messages without a reply may be sent twice' : '';
  options.progress(`waiting for ${names} to finish (at most ${seconds} s); Ctrl-C ends this at once${risk}`);
}

async function stopAll(state: State): Promise<void> {
  const explaining = setTimeout(() => explainWait(state), EXPLAIN_AFTER_MS);
  for (const stop of state.stops.toReversed()) await stop();
  clearTimeout(explaining);
  await state.guard.close();
}

async function endAllNow(state: State): Promise<void> {
  // Do not wait: each stop only has to prevent a restart.
  for (const stop of state.stops) void stop().catch(() => undefined);
  await state.guard.endNow();
  // All have ended, even if this process has not heard of each yet.
  Object.assign(state.pids, NO_PIDS);
  await state.writePids();
}

/**
 * Starts database and engine unless their addresses are set, migrates the database, starts the roles, and keeps all of
 * them running.
 * @throws LocalError with what to do, in one line; everything that was started has been stopped
 */
export async function supervise(options: SupervisorOptions): Promise<Supervisor> {
  const pids: Pids = { ...NO_PIDS };
  const config = await claimOwnPorts(options.config, options.home);
  const state: State = {
    options,
    config,
    guard: createGuard(createProcessRecord(options.home.processRecord)),
    pids,
    stops: [],
    writePids: () => Promise.resolve(),
  };
  try {
    const prepared = options.prepare?.();
    const { databaseUrl, engine } = await provideBoth(state);
    const migrated = await migrateDatabase(config.DATABASE_DIRECT_URL ?? databaseUrl, options.upkeep, config);
    if (migrated.applied.length + migrated.functions.length > 0) options.log.info(migrated, 'migrated');
    state.config = {
      ...config,
      DATABASE_URL: databaseUrl,
      TEMPORAL_ADDRESS: engine.address,
      TEMPORAL_UI_PUBLIC_URL: config.TEMPORAL_UI_PUBLIC_URL ?? engine.uiUrl ?? undefined,
    };
    const devFile = config.CARILLON_DEV ? await writeDevFile(state, engine.uiUrl) : null;
    await prepared;
    await startRoles(state);
    await state.writePids();
    return { devFile, stop: () => stopAll(state), endNow: () => endAllNow(state) };
  } catch (error) {
    await stopAll(state);
    throw error;
  }
}
