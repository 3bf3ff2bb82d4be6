import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { claimPort } from '../../src/local/machine/ports.ts';
import { startCountingServer } from '../support/smtp/counting-server.ts';
import { DOMAIN, prepareStage, withEngine } from './campaign.ts';
import { smallAccount } from './fairness.ts';
import { subscribeTo } from './live.ts';
import { percentile, rounded } from './machine.ts';
import { waitForApi } from './messages.ts';
import { usageOf } from './process-usage.ts';
import { type Interactive, type Measured, startInteractive, startRole } from './programs.ts';
import { openStage, type Stage } from './stage.ts';
import { senderSettings } from './webhooks.ts';
import {
  count,
  createLedger,
  type Ledger,
  load,
  PARTS,
  type Running,
  type WholeBenchOptions,
} from './whole-load.ts';

const WARM_UP_MS = 5_000;
/** How long the last messages, webhook deliveries and rows may take, each. */
const LIMIT_MS = 60_000;
const tlsFile = (name: string) => fileURLToPath(new URL(`../support/smtp/tls/${name}`, import.meta.url));
const SUBSCRIBER = 'test/bench/https-subscriber.ts';
const roles = ['api', 'worker', 'sender', 'mail', 'submission'] as const;

/**
 * Checks a condition every 50 ms until it is true.
 * @returns whether it became true in time
 */
async function until(isTrue: () => boolean | Promise<boolean>): Promise<boolean> {
  const end = performance.now() + LIMIT_MS;
  while (!(await isTrue())) {
    if (performance.now() > end) return false;
    await sleep(50);
  }
  return true;
}

async function rowOf<T>({ database: { pool } }: Stage, sql: string, values: unknown[] = []): Promise<T> {
  const { rows } = await pool.query<Record<string, unknown>>(sql, values);
  return rows[0] as T;
}

/** The state of the database when everything has ended. */
async function stateOf(stage: Stage, campaignId: number, importId: number) {
  return {
    messages: await rowOf<object>(
      stage,
      `select count(*)::int as all, count(*) filter (where status = 'sent')::int as sent,
         count(*) filter (where opened_at is not null)::int as opened from messages`,
    ),
    left_in_queues: await rowOf<object>(
      stage,
      `select (select count(*)::int from send_queue) as send_queue, (select count(*)::int from handovers) as handovers,
         (select count(*)::int from webhook_queue) as webhook_queue`,
    ),
    campaign: await rowOf<object>(
      stage,
      `select status, audience_count as audience,
         (select count(*)::int from messages m where m.campaign_id = c.id and sent_at is not null) as sent
       from campaigns c where id = $1`,
      [campaignId],
    ),
    import: await rowOf<object>(
      stage,
      'select status, total_rows, created_count, failed_count from imports where id = $1',
      [importId],
    ),
    contact_events: (await rowOf<{ n: number }>(stage, 'select count(*)::int as n from contact_events')).n,
  };
}

/** The latency of the messages posted in each part of the time, from the request to the SMTP server. */
function latencies({ accepted, arrivals }: Ledger) {
  return Array.from({ length: PARTS }, (_, part) => {
    const posted = [...accepted].filter(([, message]) => message.part === part);
    const times = posted.flatMap(([to, { at }]) => (arrivals.get(to) ?? Infinity) - at);
    return {
      posted: posted.length,
      p50_ms: rounded(percentile(times, 0.5), 1),
      p99_ms: rounded(percentile(times, 0.99), 1),
      max_ms: rounded(Math.max(...times), 1),
    };
  });
}

/** The share of a core that each process used, from its processor seconds before and after. */
function coresBusy(before: Record<string, number> = {}, after: Record<string, number> = {}, seconds: number) {
  return Object.fromEntries(
    Object.entries(after).map(([name, cpu]) => [name, rounded((cpu - (before[name] ?? 0)) / seconds, 3)]),
  );
}

async function measure(
  running: Running,
  subscriber: Interactive,
  listId: number,
  options: WholeBenchOptions,
) {
  const { stage, ledger } = running;
  const { recipients, seconds } = options;
  const { campaignId, importId, parts } = await load(running, listId, options);
  const expected = ledger.accepted.size + recipients;
  const delivered = async () => (await subscriber.ask('count')).count ?? 0;
  await until(() => ledger.arrivals.size >= expected);
  await until(async () => (await delivered()) >= ledger.subscribed);
  const isOver = 'select count(*)::int as n from imports where id = $1 and finished_at is null';
  await until(async () => (await rowOf<{ n: number }>(stage, isOver, [importId])).n === 0);
  await sleep(WARM_UP_MS);
  const lost = [...ledger.accepted.keys()].filter((to) => !ledger.arrivals.has(to));
  for (let n = 1; n <= recipients; n += 1) {
    if (!ledger.arrivals.has(`r${n}@example.com`)) lost.push(`r${n}@example.com`);
  }
  const times = latencies(ledger);
  return {
    parts: parts.map(({ memory, cpu }, part) => ({
      ...times[part],
      memory_mb: memory,
      cores_busy: coresBusy(cpu, parts[part + 1]?.cpu, seconds / PARTS),
    })),
    cores_busy: coresBusy(parts[0]?.cpu, parts[PARTS]?.cpu, seconds),
    accepted: ledger.accepted.size,
    lost: lost.length,
    lost_first: lost.slice(0, 5),
    twice: ledger.twice.length,
    twice_first: ledger.twice.slice(0, 5),
    webhook: { expected: ledger.subscribed, acknowledged: await delivered() },
    events: ledger.events,
    opens: ledger.opens,
    errors: Object.fromEntries(ledger.errors),
    database: await stateOf(stage, campaignId, importId),
  };
}

/** Starts everything, and counts the lines that the roles log as errors. */
async function run(stage: Stage, engine: { address: string; pid: number }, options: WholeBenchOptions) {
  const ledger = createLedger();
  const smtp = await startCountingServer({
    port: 0,
    keep: true,
    onMessage({ to }) {
      if (ledger.arrivals.has(to)) ledger.twice.push(to);
      else ledger.arrivals.set(to, performance.now());
    },
  });
  const subscriber = await startInteractive(SUBSCRIBER);
  const settings = {
    ...senderSettings(stage),
    TEMPORAL_ADDRESS: engine.address,
    PUBLIC_URL: 'https://carillon.bench.test',
    EMAIL_PROVIDER_URL: `smtp://127.0.0.1:${smtp.port}?tls=off&dkim=off`,
    MAIL_PORT: String(await claimPort(0, 'MAIL_PORT')),
    SUBMISSION_PORTS: String(await claimPort(0, 'SUBMISSION_PORTS')),
    SUBMISSION_TLS_PORTS: 'none',
    SUBMISSION_TLS_CERT_FILE: tlsFile('server.pem'),
    SUBMISSION_TLS_KEY_FILE: tlsFile('server.key'),
  };
  const onLog = (line: string) => count(ledger.errors, `log: ${line.slice(0, 500)}`);
  const started = roles.map((role): [string, Measured] => [role, startRole(role, settings, onLog)]);
  try {
    const listId = await prepareStage(stage, options.recipients);
    const small = await smallAccount(stage);
    await waitForApi(stage.apiPort);
    await subscribeTo(stage, subscriber.first.port ?? 0);
    await sleep(WARM_UP_MS);
    const processes: Running['processes'] = {
      ...Object.fromEntries(started.map(([name, role]) => [name, () => role.usage()])),
      engine: () => usageOf(engine.pid),
      postgres: () => stage.postgresUsage(),
    };
    const clients = [
      { accountId: stage.accountId, key: stage.apiKey, from: `shop@${DOMAIN}` },
      { accountId: small.accountId, key: small.key },
    ];
    return await measure({ stage, settings, ledger, clients, processes }, subscriber, listId, options);
  } finally {
    await Promise.all(started.map(([, role]) => role.stop()));
    await Promise.all([smtp.close(), subscriber.stop()]);
  }
}

/**
 * `npm run bench -- whole`: all roles at once under a steady load; shows what gets lost, slower or larger over time.
 */
export async function benchWhole(options: WholeBenchOptions) {
  const stage = await openStage();
  try {
    return await withEngine(stage, (engine) => run(stage, engine, options));
  } finally {
    await stage.close();
  }
}
