import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { campaignWorkflowId } from '../../workflows/campaigns/contract.ts';
import { generateDomainKeys, insertDomainKeys } from '../../src/delivery/content/dkim/keys.ts';
import { findEngineProgram } from '../../src/local/engine/program.ts';
import { type EngineServer, startEngine } from '../../src/local/engine/server.ts';
import { cacheFolder } from '../../src/local/machine/cache.ts';
import { createGuard } from '../../src/local/machine/guard.ts';
import { createKeyring } from '../../src/platform/secrets/keyring.ts';
import { insertVerifiedDomain } from '../support/domains.ts';
import { ask } from './ask.ts';
import { campaignHtml } from './campaign-content.ts';
import { median, rounded } from './machine.ts';
import { waitForApi } from './messages.ts';
import { cpuPer, usageOf, type Usage } from './process-usage.ts';
import { type Interactive, type Measured, startInteractive, startRole } from './programs.ts';
import { repeatRuns } from './runs.ts';
import { bareSignatures, generateKeys } from './signatures.ts';
import { runSmtpLoop } from './smtp-loop.ts';
import { openStage, type Stage } from './stage.ts';
import { resetStatementCosts, statementCosts } from './statement-costs.ts';

export interface CampaignBenchOptions {
  runs: number;
  recipients: number;
  senders: number;
  links: number;
  dkim: boolean;
  /** A checkout to measure in turn with this one, on the same database. */
  beside?: string;
  /** Whether to measure each statement, which costs PostgreSQL some microseconds per statement. */
  statements?: boolean;
}

const COUNTING_SERVER = 'test/support/smtp/counting-server.ts';
const SMTP_CONNECTIONS = 16;
const POLL_MS = 20;
const LIMIT_MS = 30 * 60_000;
/** A verified domain of the stage's brand. */
export const DOMAIN = 'news.bench.test';
/** Size of a composed message in bytes: the body plus headers, both parts and longer links. */
const MESSAGE_BYTES = 8_000;
const BARE_SIGNATURES = 2_000;
/** Processes have started once they use less than this share of a core for so long. */
const QUIET_SHARE = 0.1;
const QUIET_SECONDS = 3;
const MAX_QUIET_TRIES = 20;

/**
 * Fills a list with contacts.
 * @returns the list's id
 */
async function fillList({ database: { pool }, accountId, brandId }: Stage, count: number): Promise<number> {
  const { rows } = await pool.query<{ id: number }>(
    `insert into lists (account_id, brand_id, name) values ($1, $2, 'Everyone') returning id`,
    [accountId, brandId],
  );
  const listId = rows[0]?.id ?? 0;
  const client = await pool.connect();
  try {
    await client.query('set statement_timeout = 0');
    await client.query(
      `with new as (
         insert into contacts (account_id, brand_id, first_name, email, email_key, email_subscribed, email_opt_in_at,
           email_created_at, email_updated_at)
         select $1, $2, 'Ada' || n, 'r' || n || '@example.com', 'r' || n || '@example.com', true, now(), now(), now()
         from generate_series(1, $3::int) n returning id)
       insert into list_members (list_id, contact_id) select $4, id from new`,
      [accountId, brandId, count, listId],
    );
    await client.query('vacuum (analyze) contacts');
    await client.query('vacuum (analyze) list_members');
    await client.query('checkpoint');
  } finally {
    client.release(true);
  }
  return listId;
}

/** Gives the stage's brand a domain and a list of subscribed contacts `r1@example.com` and so on. @returns the list's id */
export async function prepareStage(stage: Stage, recipients: number): Promise<number> {
  const { pool } = stage.database;
  await pool.query(
    `update brands set company_name = 'Bench', brand_color = '#336699', physical_address = '1 Road, Town' where id = $1`,
    [stage.brandId],
  );
  const id = await insertVerifiedDomain(stage.database, stage, DOMAIN, { keyring: null });
  await pool.query('update domains set tracking_ok_at = now(), ed25519_valid = true where id = $1', [id]);
  const keyring = createKeyring(stage.settings.APP_SECRET ?? '');
  const keys = await generateDomainKeys({ id, name: DOMAIN });
  const claim = { id, name: DOMAIN, accountId: stage.accountId };
  await insertDomainKeys({ db: pool, keyring }, claim, keys);
  return fillList(stage, recipients);
}

interface Campaign {
  id: number;
  status: string;
  data: { progress?: Record<string, unknown>; outcome?: string };
}

export function draftOf(stage: Stage, listId: number, { links }: { links: number }): Promise<Campaign> {
  return ask<Campaign>(stage, 'POST', '/campaigns', {
    name: 'Bench',
    trigger_attributes: { contact_list_id: listId },
    template_attributes: {
      subject: 'News for {{ contact.first_name }}',
      body: campaignHtml(links),
      from_name: 'Bench',
      from_email: `news@${DOMAIN}`,
    },
  });
}

interface Arrivals {
  firstAt: number;
  lastAt: number;
  count: number;
}

/** Polls the SMTP server until it is stopped. */
function watchArrivals(server: Interactive) {
  const seen: Arrivals = { firstAt: 0, lastAt: 0, count: 0 };
  let stopped = false;
  const watching = (async () => {
    while (!stopped) {
      const { count = 0 } = await server.ask('count');
      const now = performance.now();
      if (seen.count === 0 && count > 0) seen.firstAt = now;
      if (count > seen.count) seen.lastAt = now;
      seen.count = count;
      await sleep(POLL_MS);
    }
  })();
  return {
    async stop(): Promise<Arrivals> {
      stopped = true;
      await watching;
      return seen;
    },
  };
}

/** Reads the row instead of using the API, where each request counts the recipients of the blocks in progress. */
async function untilCompleted(stage: Stage, id: number): Promise<void> {
  const end = performance.now() + LIMIT_MS;
  for (;;) {
    const { rows } = await stage.database.pool.query<{ status: string }>(
      'select status from campaigns where id = $1',
      [id],
    );
    const status = rows[0]?.status;
    if (status === 'completed') return;
    if (status !== 'active' || performance.now() > end) {
      throw new Error(`the campaign did not complete: ${status}`);
    }
    await sleep(POLL_MS);
  }
}

async function historyEvents(address: string, id: number): Promise<number> {
  const connection = await Connection.connect({ address });
  try {
    const execution = { workflowId: campaignWorkflowId(id) };
    const description = await connection.workflowService.describeWorkflowExecution({
      namespace: 'default',
      execution,
    });
    return Number(description.workflowExecutionInfo?.historyLength ?? 0);
  } finally {
    await connection.close();
  }
}

/** Hands over a message of the same size in a bare loop, over the same number of connections. */
async function calibrate(messages: number) {
  const server = await startInteractive(COUNTING_SERVER, ['0']);
  try {
    const target = { host: '127.0.0.1', port: server.first.port ?? 0, connections: SMTP_CONNECTIONS };
    const result = await runSmtpLoop({ ...target, messages, bytes: MESSAGE_BYTES });
    return {
      messages_per_second: rounded(result.messagesPerSecond),
      client_cpu_us_per_message: rounded(result.cpuMicrosPerMessage),
    };
  } finally {
    await server.stop();
  }
}

/** The usage of each process. */
type Usages = Record<string, Usage>;

interface Running {
  api: Measured;
  worker: Measured;
  senders: Measured[];
  engine: EngineServer;
  server: Interactive;
}

function usagesOf(stage: Stage, { api, worker, senders, engine, server }: Running): Usages {
  return {
    api: api.usage(),
    worker: worker.usage(),
    ...Object.fromEntries(senders.map((sender, n) => [`sender_${n + 1}`, sender.usage()])),
    engine: usageOf(engine.pid),
    postgres: stage.postgresUsage(),
    smtp_server: server.usage(),
  };
}

const mapUsages = (after: Usages, map: (name: string, usage: Usage) => number) =>
  Object.fromEntries(Object.entries(after).map(([name, usage]) => [name, map(name, usage)]));

async function sendOne(stage: Stage, running: Running, listId: number, options: CampaignBenchOptions) {
  const { recipients } = options;
  const { id } = await draftOf(stage, listId, options);
  if (options.statements) await resetStatementCosts(stage);
  const before = usagesOf(stage, running);
  const arrivals = watchArrivals(running.server);
  const startedAt = performance.now();
  await ask<Campaign>(stage, 'POST', `/campaigns/${id}/send`, {});
  await untilCompleted(stage, id);
  const completedAt = performance.now();
  const after = usagesOf(stage, running);
  const statements = options.statements ? { statements: await statementCosts(stage, recipients) } : {};
  const { firstAt, lastAt, count } = await arrivals.stop();
  if (count !== recipients) {
    const campaign = await ask<Campaign>(stage, 'GET', `/campaigns/${id}`);
    throw new Error(`${count} of ${recipients} arrived: ${JSON.stringify(campaign)}`);
  }
  return {
    first_to_last_per_second: rounded(recipients / ((lastAt - firstAt) / 1_000)),
    send_to_completed_per_second: rounded(recipients / ((completedAt - startedAt) / 1_000)),
    send_to_first_ms: rounded(firstAt - startedAt),
    last_to_completed_ms: rounded(completedAt - lastAt),
    cpu_us_per_recipient: mapUsages(after, (name, usage) => cpuPer(before[name] ?? usage, usage, recipients)),
    peak_memory_mb: mapUsages(after, (_name, usage) => rounded(usage.peakMemoryMb)),
    history_events: await historyEvents(running.engine.address, id),
    ...statements,
  };
}

interface Bench {
  stage: Stage;
  engine: EngineServer;
  listId: number;
  options: CampaignBenchOptions;
}

/**
 * Each run has new processes, so that none is warm, and the same list of contacts.
 * @param folder of the checkout to measure; by default this one
 */
async function oneRun({ stage, engine, listId, options }: Bench, folder?: string) {
  const { pool } = stage.database;
  await pool.query(
    `truncate messages, message_contents, message_events, send_queue, handovers, allowance_buckets, campaign_blocks,
       contact_engagement, contact_channel_counts`,
  );
  const calibration = {
    ...(await calibrate(options.recipients)),
    ...(options.dkim ? { signatures: bareSignatures(await generateKeys(DOMAIN), BARE_SIGNATURES) } : {}),
  };
  const server = await startInteractive(COUNTING_SERVER, ['0']);
  const settings = {
    ...stage.settings,
    TEMPORAL_ADDRESS: engine.address,
    PUBLIC_URL: 'https://carillon.bench.test',
    SENDER_CONNECTIONS: String(SMTP_CONNECTIONS),
    EMAIL_PROVIDER_URL: `smtp://127.0.0.1:${server.first.port}?tls=off${options.dkim ? '' : '&dkim=off'}`,
  };
  const start = (role: string) => startRole(role, settings, undefined, folder);
  const api = start('api');
  const worker = start('worker');
  const senders = Array.from({ length: options.senders }, () => start('sender'));
  try {
    await waitForApi(stage.apiPort);
    await untilQuiet([api, worker, ...senders]);
    const running = { api, worker, senders, engine, server };
    return { calibration, campaign: await sendOne(stage, running, listId, options) };
  } finally {
    await Promise.all([...senders, worker, api].map((role) => role.stop()));
    await server.stop();
  }
}

/** Waits until processes have started: what they do then would count as the campaign's. */
async function untilQuiet(roles: readonly Measured[]): Promise<void> {
  const cpu = () => roles.reduce((sum, role) => sum + role.usage().cpuSeconds, 0);
  for (let tries = 0; tries < MAX_QUIET_TRIES; tries += 1) {
    const before = cpu();
    await sleep(QUIET_SECONDS * 1_000);
    if (cpu() - before < QUIET_SHARE * QUIET_SECONDS) return;
  }
}

/** Runs the engine while `use` runs. */
export async function withEngine<T>(stage: Stage, use: (engine: EngineServer) => Promise<T>): Promise<T> {
  const guard = createGuard();
  const say = (line: string) => void process.stderr.write(`${line}\n`);
  try {
    const program = await findEngineProgram({ cache: await cacheFolder(), progress: say });
    const folder = join(stage.settings.CARILLON_HOME ?? '', 'temporal');
    const engine = await startEngine({ program, folder, port: 0, uiPort: null, guard });
    try {
      return await use(engine);
    } finally {
      await engine.stop();
    }
  } finally {
    await guard.close();
  }
}

type Run = Awaited<ReturnType<typeof oneRun>>;

/** What Carillon's processes and PostgreSQL use for a recipient, without the engine and the SMTP server. */
const ownCpu = ({
  campaign: {
    cpu_us_per_recipient: { engine: _, smtp_server: __, ...own },
  },
}: Run) => Object.values(own).reduce((sum, each) => sum + each, 0);

const mediansOf = (of: (pick: (run: Run) => number) => number) => ({
  first_to_last_per_second: of((run) => run.campaign.first_to_last_per_second),
  send_to_completed_per_second: of((run) => run.campaign.send_to_completed_per_second),
  share_of_bare_smtp: of(
    (run) => run.campaign.first_to_last_per_second / run.calibration.messages_per_second,
  ),
  own_cpu_us_per_recipient: of(ownCpu),
  postgres_cpu_us_per_recipient: of((run) => run.campaign.cpu_us_per_recipient.postgres ?? 0),
  sender_cpu_us_per_recipient: of((run) => run.campaign.cpu_us_per_recipient.sender_1 ?? 0),
  history_events: of((run) => run.campaign.history_events),
});

async function measureInTurn(bench: Bench) {
  const { runs: count, beside } = bench.options;
  if (beside === undefined) {
    const { runs, of } = await repeatRuns(count, () => oneRun(bench));
    return { medians: mediansOf(of), runs };
  }
  const { runs } = await repeatRuns(count, async () => ({
    before: await oneRun(bench, beside),
    now: await oneRun(bench),
  }));
  const of = (side: 'now' | 'before') => (pick: (run: Run) => number) =>
    rounded(median(runs.map((run) => pick(run[side]))), 2);
  return { medians: mediansOf(of('now')), medians_beside: mediansOf(of('before')), runs };
}

/** Runs a whole campaign, from POST send to completed, with an SMTP server that counts. */
export async function benchCampaign(options: CampaignBenchOptions) {
  const stage = await openStage({ statements: options.statements === true });
  try {
    return await withEngine(stage, async (engine) => {
      const listId = await prepareStage(stage, options.recipients);
      return measureInTurn({ stage, engine, listId, options });
    });
  } finally {
    await stage.close();
  }
}
