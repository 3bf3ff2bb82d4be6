import { execFile } from 'node:child_process';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type pg from 'pg';
import { createAccount } from '../../../src/features/accounts/service.ts';
import { createApiKey } from '../../../src/features/api-keys/service.ts';
import { findEngineProgram } from '../../../src/local/engine/program.ts';
import { type EngineServer, startEngine } from '../../../src/local/engine/server.ts';
import { createGuard, type Guard } from '../../../src/local/machine/guard.ts';
import { signal } from '../../../src/local/machine/os-process.ts';
import { claimPorts } from '../../../src/local/machine/ports.ts';
import { type PostgresServer, startPostgres } from '../../../src/local/postgres/server.ts';
import { createServerChanges, openDatabase, type Database } from '../../../src/platform/db/database.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import type { RoleName } from '../../../src/roles/names.ts';
import { type Receiver, startReceiver } from '../https-receiver.ts';
import { createFastFolder } from '../open-folder.ts';
import { certificates } from '../submission.ts';
import { toolCache } from '../tools.ts';
import { copyMigratedData, endDatabase, killCluster, readCopy } from './cluster.ts';
import { type MailSink, startMailSink } from './mail-sink.ts';
import { createRole, type Role } from './role.ts';
import { startDatabaseWithStandby } from './standby.ts';

/** A server that can be killed and restarted with the same data and port. */
interface Restartable {
  /** Sends the signals before it returns. Resolves when no process of the server is left. */
  kill(): Promise<void>;
  start(): Promise<void>;
}

/** A complete Carillon: each role in processes of its own, as durable as in production. */
export interface CrashStage {
  readonly database: Database;
  /** CARILLON_HOME of all roles. */
  readonly home: string;
  readonly accountId: number;
  readonly apiKey: string;
  readonly apiPort: number;
  readonly sink: MailSink;
  /** The endpoint that is subscribed to `email.sent`. */
  readonly receiver: Receiver;
  readonly webhookId: number;
  /** Creates another webhook at the receiver, for `email.sent` or another event. Returns its id. */
  subscribe(path: string, event?: string): Promise<number>;
  readonly api: Role;
  readonly worker: Role;
  /** Null if the stage was opened without it. */
  readonly mail: { readonly role: Role; readonly port: number } | null;
  /** Its port has STARTTLS, whose certificate `support/smtp/tls/ca.pem` signs. Null if the stage was opened without it. */
  readonly submission: { readonly role: Role; readonly port: number } | null;
  readonly senders: readonly [Role, Role, ...Role[]];
  /** `forget` removes all its data; call it while the engine is down. */
  readonly engine: Restartable & { readonly address: string; forget(): Promise<void> };
  readonly postgres: Restartable & { readCopy<T>(read: (client: pg.Client) => Promise<T>): Promise<T> };
  /** Null if the stage was not opened with the folder of another version. */
  readonly before: VersionBefore | null;
  /** Returns the last lines of each role's log. */
  lastLines(): string;
  /** @throws Error with the last lines of the roles that ended by themselves */
  requireNoDeaths(): void;
  close(): Promise<void>;
}

/** One process of each role, running another version of Carillon. */
interface VersionBefore {
  readonly apiPort: number;
  readonly api: Role;
  readonly worker: Role;
  readonly sender: Role;
}

/** APP_SECRET of all roles. */
export const CRASH_SECRET = 'a secret of the crash tests that is long enough';

const testCaFile = fileURLToPath(new URL('../tls/ca.pem', import.meta.url));
/** Slow enough that a backlog builds up, and all senders have claims and intents. */
const SMTP_REPLY_MS = 15;
const CONNECTIONS_PER_SENDER = 4;
/** In seconds. The first retries follow soon, and the schedule outlasts every test. */
const webhookRetrySchedule = [1, 2, ...Array.from({ length: 40 }, () => 5)].join(',');

/** The database of a stage. It keeps its address when it is killed and started again. */
export interface StageDatabase {
  readonly url: string;
  readonly restartable: CrashStage['postgres'];
  stop(): Promise<void>;
}

async function startDatabase(folder: string, guard: Guard): Promise<StageDatabase> {
  const options = { folder, guard, sharedBuffersMb: 128 };
  await copyMigratedData(folder);
  let server: PostgresServer = await startPostgres({ ...options, port: 0 });
  const { port } = server;
  return {
    url: server.url(),
    stop: () => endDatabase(server),
    restartable: {
      kill: () => killCluster(server.pid),
      start: async () => void (server = await startPostgres({ ...options, port })),
      readCopy: <T>(read: (client: pg.Client) => Promise<T>) => readCopy(folder, guard, read),
    },
  };
}

async function startWorkflowEngine(folder: string, guard: Guard) {
  const program = await findEngineProgram({ cache: await toolCache(), progress: () => undefined });
  const options = { program, folder, uiPort: null, guard };
  let server: EngineServer = await startEngine({ ...options, port: 0 });
  const { port, address } = server;
  const kill = async () => {
    signal(server.pid, 'SIGKILL');
    await server.ended;
  };
  return {
    address,
    stop: kill,
    restartable: {
      address,
      kill,
      start: async () => void (server = await startEngine({ ...options, port })),
      forget: () => rm(folder, { recursive: true, force: true }),
    },
  };
}

/** Creates an account without limits, with an API key. */
export async function createSendingAccount(
  database: Database,
): Promise<{ accountId: number; apiKey: string }> {
  const owner = { email: 'owner@crash.test', password: 'correct horse battery staple' };
  const { account } = await inTransaction(database.pool, (trx) =>
    createAccount(trx, { name: 'Crash', tier: 'trusted', sandboxMonthlyCap: 1_000_000, owner }),
  );
  const { key } = await createApiKey(database.pool, { accountId: account.id, rateLimitPerSecond: 0 });
  return { accountId: account.id, apiKey: key };
}

/** The account of the stage, with its brand. */
export async function accountOf({
  database,
  accountId,
}: Pick<CrashStage, 'database' | 'accountId'>): Promise<{ accountId: number; brandId: number }> {
  const { rows } = await database.pool.query<{ id: number }>('select id from brands where account_id = $1', [
    accountId,
  ]);
  return { accountId, brandId: rows[0]?.id ?? 0 };
}

async function createWebhook(apiPort: number, apiKey: string, url: string, event: string): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${apiPort}/v1/my/webhooks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url, events: [event] }),
  });
  if (response.status !== 201) throw new Error(`no webhook: ${await response.text()}`);
  return ((await response.json()) as { id: number }).id;
}

interface CrashStageOptions {
  /** Number of sender processes in addition to the first two. */
  furtherSenders?: number;
  /** How long the SMTP server takes for each mail. */
  smtpReplyMs?: number;
  /** Whether a synchronous standby takes over when the database is killed and started again. */
  standby?: boolean;
  /** Settings of all roles, in addition to those of every stage. */
  settings?: Record<string, string>;
  /** Whether the role `mail` runs, too. */
  mail?: boolean;
  /** Whether the role `submission` runs, too. */
  submission?: boolean;
  /** The folder of another version of Carillon. One process of each of its roles runs, too. */
  before?: string;
}

/** Starts everything. Call `close` in `afterAll`. */
export async function openCrashStage(options: CrashStageOptions = {}): Promise<CrashStage> {
  const folder = createFastFolder('carillon-crash-');
  const guard = createGuard();
  const closing: (() => Promise<unknown>)[] = [
    () => rm(folder, { recursive: true, force: true }),
    () => guard.close(),
  ];
  const close = async () => {
    for (const step of closing.splice(0).reverse()) await step();
  };
  try {
    return await build(folder, guard, closing, close, options);
  } catch (error) {
    await close();
    throw error;
  }
}

/** Like `Promise.all`, but waits for all of them even if one rejects: everything that has started must be closed. */
async function allOf<T extends Promise<unknown>[]>(
  parts: [...T],
): Promise<{ [N in keyof T]: Awaited<T[N]> }> {
  await Promise.allSettled(parts);
  return Promise.all(parts);
}

async function installFunctionsOf(checkout: string, settings: Record<string, string>): Promise<void> {
  const { PATH, HOME } = process.env;
  const program = ['--no-warnings', join(checkout, 'src/main.ts'), 'migrate'];
  await promisify(execFile)(process.execPath, program, { env: { PATH, HOME, ...settings } });
}

const rolesOf = (roleOf: (role: RoleName) => Role) => ({
  api: roleOf('api'),
  worker: roleOf('worker'),
  sender: roleOf('sender'),
});

async function build(
  folder: string,
  guard: Guard,
  closing: (() => Promise<unknown>)[],
  close: () => Promise<void>,
  {
    furtherSenders = 0,
    smtpReplyMs = SMTP_REPLY_MS,
    standby = false,
    settings = {},
    mail = false,
    submission = false,
    before,
  }: CrashStageOptions,
): Promise<CrashStage> {
  const home = join(folder, 'home');
  await mkdir(home);
  const kept = async <Server extends { stop(): Promise<void> }>(start: Promise<Server>) => {
    const server = await start;
    closing.push(server.stop);
    return server;
  };
  const [postgres, engine] = await allOf([
    kept((standby ? startDatabaseWithStandby : startDatabase)(join(folder, 'postgres'), guard)),
    kept(startWorkflowEngine(join(folder, 'temporal'), guard)),
  ]);
  const sink = await startMailSink(smtpReplyMs);
  closing.push(() => sink.close());
  const receiver = await startReceiver();
  closing.push(() => receiver.close());
  const serverChanges = createServerChanges();
  const own = { poolMax: 4, applicationName: 'crash test', serverChanges };
  const database = openDatabase({ url: postgres.url, ...own });
  closing.push(() => database.close());
  const { accountId, apiKey } = await createSendingAccount(database);
  const anyPort = { port: 0, setting: 'PORT' };
  const ports = await claimPorts([anyPort, anyPort, anyPort, anyPort]);
  const [apiPort, portBefore, mailPort, submissionPort] = ports as [number, number, number, number];

  const shared = {
    DATABASE_URL: postgres.url,
    TEMPORAL_ADDRESS: engine.address,
    OPS_PORT: '0',
    APP_SECRET: CRASH_SECRET,
    MAIL_DOMAIN: 'mail.crash.test',
    MAIL_PORT: String(mailPort),
    SUBMISSION_PORTS: String(submissionPort),
    SUBMISSION_TLS_PORTS: 'none',
    SUBMISSION_TLS_CERT_FILE: certificates.first.cert,
    SUBMISSION_TLS_KEY_FILE: certificates.first.key,
    CARILLON_HOME: home,
    LOG_LEVEL: 'warn',
    EGRESS_ALLOW: '127.0.0.0/8',
    NODE_EXTRA_CA_CERTS: testCaFile,
    WEBHOOK_RETRY_SCHEDULE: webhookRetrySchedule,
    SENDER_CONNECTIONS: String(CONNECTIONS_PER_SENDER),
    ...settings,
  };
  // As an upgrade leaves it: with the functions of both versions.
  if (before !== undefined) await installFunctionsOf(before, shared);
  const roleOf = (
    name: string,
    role: RoleName,
    of: { checkout?: string | undefined; port?: number } = {},
  ) => {
    const EMAIL_PROVIDER_URL = `smtp://127.0.0.1:${sink.port}?tls=off&name=${name}`;
    const PORT = String(of.port ?? apiPort);
    return createRole({
      name,
      role,
      folder,
      guard,
      checkout: of.checkout,
      settings: { ...shared, EMAIL_PROVIDER_URL, PORT },
    });
  };
  const api = roleOf('api', 'api');
  const worker = roleOf('worker', 'worker');
  const mailRole = mail ? { role: roleOf('mail', 'mail'), port: mailPort } : null;
  const submissionRole = submission
    ? { role: roleOf('submission', 'submission'), port: submissionPort }
    : null;
  const senderOf = (n: number) => roleOf(`sender-${n}`, 'sender');
  const further = Array.from({ length: furtherSenders }, (_, index) => senderOf(index + 3));
  const senders = [senderOf(1), senderOf(2), ...further] as const;
  const ofBefore = (role: RoleName) => roleOf(`${role}-before`, role, { checkout: before, port: portBefore });
  const versionBefore = before === undefined ? null : { apiPort: portBefore, ...rolesOf(ofBefore) };
  const older = versionBefore ? [versionBefore.api, versionBefore.worker, versionBefore.sender] : [];
  const receivers = [mailRole, submissionRole].flatMap((each) => (each ? [each.role] : []));
  const roles = [api, worker, ...senders, ...receivers, ...older];
  closing.push(() => Promise.all(roles.map((role) => role.kill())));
  await allOf(roles.map((role) => role.start()));
  const subscribe = (path: string, event = 'email.sent') =>
    createWebhook(apiPort, apiKey, receiver.url(path, '127.0.0.1'), event);
  const webhookId = await subscribe('/events');
  return {
    database,
    home,
    accountId,
    apiKey,
    apiPort,
    sink,
    receiver,
    webhookId,
    subscribe,
    api,
    worker,
    mail: mailRole,
    submission: submissionRole,
    senders,
    before: versionBefore,
    engine: engine.restartable,
    postgres: {
      ...postgres.restartable,
      async start() {
        await postgres.restartable.start();
        // The test's own connections may lead to a server that no longer responds.
        serverChanges.emit('changed', Date.now());
      },
    },
    requireNoDeaths() {
      const dead = roles.filter((role) => role.deaths > 0);
      if (dead.length > 0)
        throw new Error(`roles ended by themselves: ${dead.map((role) => role.lastLines()).join('\n')}`);
    },
    lastLines: () => roles.map((role) => `--- ${role.name}\n${role.lastLines()}`).join('\n'),
    close,
  };
}
