import { setTimeout as sleep } from 'node:timers/promises';
import { credit, setPrice } from '../support/money.ts';
import { startCountingServer } from '../support/smtp/counting-server.ts';
import { startSubscriber } from './https-subscriber.ts';
import { type LoadOptions, loadHttp } from './http-load.ts';
import { percentile, rounded } from './machine.ts';
import { waitForApi } from './messages.ts';
import { cpuPer, type Usage } from './process-usage.ts';
import { type Measured, startRole, startInteractive } from './programs.ts';
import { repeatRuns, untilCount } from './runs.ts';
import { openStage, type Stage } from './stage.ts';
import { senderSettings } from './webhooks.ts';

export interface LiveBenchOptions {
  runs: number;
  /** Duration of full load, and of each steady rate, in seconds. */
  seconds: number;
  /** Number of requests per second in the steady part. */
  rate: number;
  /** Whether to measure full load a second time, with prices, a spend cap and a wallet. */
  paid: boolean;
}

const CONNECTIONS = 32;
const WARM_UP_SECONDS = 10;
const LIMIT_MS = 300_000;
const COUNTING_SERVER = 'test/support/smtp/counting-server.ts';
const SUBSCRIBER = 'test/bench/https-subscriber.ts';

const paragraph = 'Thank you for your order. It is on its way and will arrive within three days. ';

/** A message with about 1 KB of HTML and 1 KB of text. Recipient and subject differ in every message. */
export function bodyOf(prefix: string): (n: number) => string {
  return (n) =>
    JSON.stringify({
      channel: 'email',
      to: `${prefix}-${n}@example.com`,
      subject: `Your receipt ${prefix}-${n}`,
      html: `<h1>Order ${n}</h1><p>${paragraph.repeat(12)}</p>`,
      body: `Order ${n}\n\n${paragraph.repeat(12)}`,
    });
}

async function empty({ database }: Stage): Promise<void> {
  await database.pool.query(
    `truncate messages, message_contents, message_events, send_queue, handovers, idempotency_keys, allowance_buckets,
       webhooks, webhook_queue, webhook_deliveries, webhook_attempts, events restart identity cascade`,
  );
}

/** Gives the account's tier a price per email, and the account a spend cap and sufficient funds. */
export async function makePay({ database, accountId }: Stage): Promise<void> {
  await database.pool.query('delete from account_months');
  await setPrice(database, 10);
  await credit(database, { accountId }, 1_000_000_000_000);
  await database.pool.query(
    'update accounts set spend_cap_monthly_cents = 1000000000, monthly_email_allowance = 0 where id = $1',
    [accountId],
  );
}

async function makeFree({ database, accountId }: Stage): Promise<void> {
  await database.pool.query('delete from prices');
  await database.pool.query('update accounts set spend_cap_monthly_cents = null where id = $1', [accountId]);
}

function request(stage: Stage, body: (n: number) => string): Omit<LoadOptions, 'seconds'> {
  return {
    port: stage.apiPort,
    path: '/v1/my/messages',
    headers: { Authorization: `Bearer ${stage.apiKey}` },
    body,
    connections: CONNECTIONS,
  };
}

/** Subscribes an endpoint on loopback to `email.sent`. */
export async function subscribeTo(stage: Stage, port: number): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${stage.apiPort}/v1/my/webhooks`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${stage.apiKey}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ url: `https://127.0.0.1:${port}/ok`, events: ['email.sent'] }),
  });
  if (!answer.ok) throw new Error(`webhook refused: ${await answer.text()}`);
}

/** Runs the roles with a relay while `use` runs. */
async function withRoles<T>(stage: Stage, smtpPort: number, use: (roles: Roles) => Promise<T>): Promise<T> {
  const settings = {
    ...senderSettings(stage),
    EMAIL_PROVIDER_URL: `smtp://127.0.0.1:${smtpPort}?tls=off&dkim=off`,
  };
  const roles = { api: startRole('api', settings), sender: startRole('sender', settings) };
  try {
    await waitForApi(stage.apiPort);
    return await use(roles);
  } finally {
    await Promise.all([roles.api.stop(), roles.sender.stop()]);
  }
}

interface Roles {
  api: Measured;
  sender: Measured;
}

interface Usages {
  api: Usage;
  sender: Usage;
  postgres: Usage;
}

function usages(stage: Stage, { api, sender }: Roles): Usages {
  return { api: api.usage(), sender: sender.usage(), postgres: stage.postgresUsage() };
}

function cpuPerMessage(before: Usages, after: Usages, messages: number) {
  return {
    api_cpu_us_per_message: cpuPer(before.api, after.api, messages),
    sender_cpu_us_per_message: cpuPer(before.sender, after.sender, messages),
    postgres_cpu_us_per_message: cpuPer(before.postgres, after.postgres, messages),
  };
}

/** Posts as fast as the API responds, and counts what reaches the SMTP server and the endpoint in the same time. */
async function fullLoad(stage: Stage, seconds: number, withWebhook: boolean) {
  await empty(stage);
  const smtp = await startInteractive(COUNTING_SERVER, ['0']);
  const subscriber = await startInteractive(SUBSCRIBER);
  const sent = async () => (await smtp.ask('count')).count ?? 0;
  const reported = async () => (await subscriber.ask('count')).count ?? 0;
  try {
    return await withRoles(stage, smtp.first.port ?? 0, async (roles) => {
      if (withWebhook) await subscribeTo(stage, subscriber.first.port ?? 0);
      await loadHttp({ ...request(stage, bodyOf('warm')), seconds: WARM_UP_SECONDS });
      const before = { sent: await sent(), reported: await reported(), usage: usages(stage, roles) };
      const startedAt = performance.now();
      const load = await loadHttp({ ...request(stage, bodyOf('load')), seconds });
      const measured = (performance.now() - startedAt) / 1_000;
      const messages = (await sent()) - before.sent;
      const events = (await reported()) - before.reported;
      return {
        accepted_per_second: load.requests_per_second,
        sent_per_second: rounded(messages / measured),
        ...(withWebhook ? { reported_per_second: rounded(events / measured) } : {}),
        errors: load.errors,
        ...cpuPerMessage(before.usage, usages(stage, roles), messages),
      };
    });
  } finally {
    await Promise.all([smtp.stop(), subscriber.stop()]);
  }
}

/** Posts at a steady rate, with a webhook endpoint. Times each message from its request to the SMTP server. */
async function steady(stage: Stage, rate: number, seconds: number) {
  await empty(stage);
  const arrivals = new Map<string, number>();
  const smtp = await startCountingServer({
    port: 0,
    keep: true,
    onMessage: ({ to }) => void arrivals.set(to, performance.now()),
  });
  const subscriber = await startSubscriber();
  const starts = new Map<string, number>();
  const body = bodyOf('steady');
  const send = async (n: number) => {
    starts.set(`steady-${n}@example.com`, performance.now());
    const answer = await fetch(`http://127.0.0.1:${stage.apiPort}/v1/my/messages`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${stage.apiKey}`, 'Content-Type': 'application/json' },
      body: body(n),
    });
    await answer.arrayBuffer();
  };
  try {
    return await withRoles(stage, smtp.port, async (roles) => {
      await subscribeTo(stage, subscriber.port);
      const warmUp = WARM_UP_SECONDS * rate;
      const total = warmUp + seconds * rate;
      let before = usages(stage, roles);
      const startedAt = performance.now();
      for (let n = 0; n < total; n++) {
        const due = startedAt + (n * 1_000) / rate;
        if (due > performance.now()) await sleep(due - performance.now());
        if (n === warmUp) before = usages(stage, roles);
        void send(n);
      }
      await untilCount(() => Promise.resolve(arrivals.size), total, LIMIT_MS);
      const after = usages(stage, roles);
      const times = [...starts].slice(warmUp).map(([to, at]) => (arrivals.get(to) ?? Infinity) - at);
      const cores = (['api', 'sender', 'postgres'] as const).reduce(
        (sum, name) => sum + (after[name].cpuSeconds - before[name].cpuSeconds) / seconds,
        0,
      );
      return {
        rate,
        p50_ms: rounded(percentile(times, 0.5), 2),
        p99_ms: rounded(percentile(times, 0.99), 2),
        cores_busy: rounded(cores, 2),
        ...cpuPerMessage(before, after, total - warmUp),
      };
    });
  } finally {
    await smtp.close();
    await subscriber.close();
  }
}

async function paidLoad(stage: Stage, seconds: number) {
  await makePay(stage);
  const paid = await fullLoad(stage, seconds, false);
  const { rows } = await stage.database.pool.query<{ emails: number }>(
    'select coalesce(sum(email_units), 0)::int as emails from account_months',
  );
  await makeFree(stage);
  return { ...paid, emails_charged: rows[0]?.emails ?? 0 };
}

async function oneRun(stage: Stage, options: LiveBenchOptions) {
  const full = await fullLoad(stage, options.seconds, false);
  const paid = options.paid ? { paid: await paidLoad(stage, options.seconds) } : {};
  const withWebhook = await fullLoad(stage, options.seconds, true);
  return {
    full,
    ...paid,
    with_webhook: withWebhook,
    steady: await steady(stage, options.rate, options.seconds),
  };
}

/** `npm run bench -- live`: API and sender together, from POST to the SMTP server and to a webhook endpoint. */
export async function benchLive(options: LiveBenchOptions) {
  const stage = await openStage();
  try {
    const { runs, of } = await repeatRuns(options.runs, () => oneRun(stage, options));
    return {
      medians: {
        sent_per_second: of((run) => run.full.sent_per_second),
        ...(options.paid ? { sent_per_second_paid: of((run) => run.paid?.sent_per_second ?? 0) } : {}),
        sent_per_second_with_webhook: of((run) => run.with_webhook.sent_per_second),
        reported_per_second: of((run) => run.with_webhook.reported_per_second ?? 0),
        steady_p50_ms: of((run) => run.steady.p50_ms),
        steady_p99_ms: of((run) => run.steady.p99_ms),
        steady_cores_busy: of((run) => run.steady.cores_busy),
      },
      runs,
    };
  } finally {
    await stage.close();
  }
}
