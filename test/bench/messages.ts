import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createKeyring } from '../../src/platform/secrets/keyring.ts';
import { queueEmails } from '../support/queued.ts';
import { startCountingServer } from '../support/smtp/counting-server.ts';
import { loadHttp, type LoadResult } from './http-load.ts';
import { percentile, rounded } from './machine.ts';
import { cpuPer } from './process-usage.ts';
import { type Measured, startRole, startInteractive } from './programs.ts';
import { repeatRuns, untilCount } from './runs.ts';
import { runSmtpLoop } from './smtp-loop.ts';
import { openStage, type Stage } from './stage.ts';

export interface MessagesBenchOptions {
  runs: number;
  seconds: number;
  backlog: number;
  latencySeconds: number;
  /** Number of tracked links in each drained message. */
  links: number;
}

const CONNECTIONS = 32;
const SMTP_CONNECTIONS = 16;
const LATENCY_PER_SECOND = 20;
/** V8 collects the garbage of a start after 8 and after 16 seconds, which takes 40 ms each time. */
const WARM_UP_SECONDS = 18;
/** A start takes a second, and half a minute on a machine that is busy with other work. */
const READY_TRIES = 1_200;
const READY_PAUSE_MS = 100;
const COUNTING_SERVER = 'test/support/smtp/counting-server.ts';

const body = (n: number) =>
  JSON.stringify({
    channel: 'email',
    to: `recipient${n}@example.com`,
    subject: 'Your receipt',
    html: '<p>Thank you for your order.</p>',
    body: 'Thank you for your order.',
  });

export async function waitForApi(port: number): Promise<void> {
  for (let tries = 0; tries < READY_TRIES; tries++) {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null);
    if (answer?.ok) return;
    await sleep(READY_PAUSE_MS);
  }
  throw new Error('the API did not become ready');
}

/** Calibrates requests with a small JSON body. */
export async function bareKoa(seconds: number): Promise<LoadResult> {
  const server = await startInteractive('test/bench/bare-koa.ts');
  const port = server.first.port ?? 0;
  try {
    await loadHttp({ port, path: '/', headers: {}, body, connections: CONNECTIONS, seconds: 1 });
    return await loadHttp({ port, path: '/', headers: {}, body, connections: CONNECTIONS, seconds });
  } finally {
    await server.stop();
  }
}

async function bareSmtp(messages: number) {
  const server = await startInteractive(COUNTING_SERVER, ['0']);
  try {
    const port = server.first.port ?? 0;
    const result = await runSmtpLoop({ host: '127.0.0.1', port, connections: SMTP_CONNECTIONS, messages });
    return {
      messages_per_second: rounded(result.messagesPerSecond),
      client_cpu_us_per_message: rounded(result.cpuMicrosPerMessage),
    };
  } finally {
    await server.stop();
  }
}

async function accepted(stage: Stage, api: Measured, seconds: number) {
  const options = {
    port: stage.apiPort,
    path: '/v1/my/messages',
    headers: { Authorization: `Bearer ${stage.apiKey}` },
    body,
    connections: CONNECTIONS,
  };
  // Warm up: in the first seconds, V8 has not compiled the hot code yet.
  await loadHttp({ ...options, seconds: 4 });
  const before = { api: api.usage(), postgres: stage.postgresUsage() };
  const result = await loadHttp({ ...options, seconds });
  const usage = {
    api_cpu_us_per_request: cpuPer(before.api, api.usage(), result.requests),
    postgres_cpu_us_per_request: cpuPer(before.postgres, stage.postgresUsage(), result.requests),
  };
  const keys = randomUUID();
  const withKey = await loadHttp({ ...options, key: (n) => `${keys}-${n}`, seconds });
  return { ...result, ...usage, with_key: withKey, api_peak_memory_mb: rounded(api.usage().peakMemoryMb) };
}

async function empty(stage: Stage): Promise<void> {
  await stage.database.pool.query(
    'truncate messages, message_contents, message_events, send_queue, handovers, idempotency_keys, allowance_buckets',
  );
}

/** Makes all messages the same tracked mail with this many links. */
async function addLinks(
  { database: { pool }, settings }: Stage,
  ids: number[],
  links: number,
): Promise<void> {
  const paragraphs = Array.from(
    { length: links },
    (_, n) =>
      `<p>Thank you. <a href="https://shop.example.com/orders/${n}?utm_source=mail">Your order</a></p>`,
  );
  const key = createKeyring(settings.APP_SECRET ?? '').subkey('tracking').id;
  const tracking = { opens: true, clicks: true, host: 'https://links.bench.test', key };
  await pool.query('update message_contents set html = $2 where message_id = any($1)', [
    ids,
    paragraphs.join(''),
  ]);
  await pool.query('update messages set tracking = $2 where id = any($1)', [ids, JSON.stringify(tracking)]);
}

/**
 * Measures from the first message that arrives to the last, so that the sender's start does not count.
 * @param prepare writes what waits beside the backlog
 */
export async function drained(
  stage: Stage,
  { backlog, links }: Pick<MessagesBenchOptions, 'backlog' | 'links'>,
  prepare: () => Promise<void> = () => Promise.resolve(),
) {
  await empty(stage);
  await prepare();
  const ids = await queueEmails(stage.database, stage, backlog);
  if (links > 0) await addLinks(stage, ids, links);
  await stage.database.pool.query('vacuum analyze messages, message_contents, send_queue');
  await stage.database.pool.query('checkpoint');
  const server = await startInteractive(COUNTING_SERVER, ['0']);
  const settings = {
    ...stage.settings,
    SENDER_CONNECTIONS: String(SMTP_CONNECTIONS),
    EMAIL_PROVIDER_URL: `smtp://127.0.0.1:${server.first.port}?tls=off&dkim=off`,
  };
  const sender = startRole('sender', settings);
  const count = async () => (await server.ask('count')).count ?? 0;
  try {
    await untilCount(count, 1, 60_000);
    const startedAt = performance.now();
    const before = { count: await count(), sender: sender.usage(), postgres: stage.postgresUsage() };
    await untilCount(count, backlog, 300_000);
    const seconds = (performance.now() - startedAt) / 1000;
    const sent = backlog - before.count;
    return {
      messages_per_second: rounded(sent / seconds),
      sender_cpu_us_per_message: cpuPer(before.sender, sender.usage(), sent),
      postgres_cpu_us_per_message: cpuPer(before.postgres, stage.postgresUsage(), sent),
      sender_peak_memory_mb: rounded(sender.usage().peakMemoryMb),
    };
  } finally {
    await sender.stop();
    await server.stop();
  }
}

/** Measures from the start of a request to the message's last byte at the SMTP server, at 20 requests per second. */
async function latency(stage: Stage, seconds: number) {
  await empty(stage);
  const arrivals = new Map<string, number>();
  const server = await startCountingServer({
    port: 0,
    keep: true,
    onMessage: (message) => void arrivals.set(message.to, performance.now()),
  });
  const sender = startRole('sender', {
    ...stage.settings,
    EMAIL_PROVIDER_URL: `smtp://127.0.0.1:${server.port}?tls=off&dkim=off`,
  });
  const starts = new Map<string, number>();
  const send = async (n: number) => {
    starts.set(`recipient${n}@example.com`, performance.now());
    await fetch(`http://127.0.0.1:${stage.apiPort}/v1/my/messages`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${stage.apiKey}`, 'Content-Type': 'application/json' },
      body: body(n),
    });
  };
  try {
    const warmUp = WARM_UP_SECONDS * LATENCY_PER_SECOND;
    const total = warmUp + seconds * LATENCY_PER_SECOND;
    await send(0);
    await untilCount(() => Promise.resolve(arrivals.size), 1, 60_000);
    for (let n = 1; n <= total; n++) {
      await sleep(1000 / LATENCY_PER_SECOND);
      void send(n);
    }
    await untilCount(() => Promise.resolve(arrivals.size), total + 1, 30_000);
    const measured = [...starts].slice(warmUp + 1).map(([to, at]) => (arrivals.get(to) ?? Infinity) - at);
    return { p50_ms: rounded(percentile(measured, 0.5), 2), p99_ms: rounded(percentile(measured, 0.99), 2) };
  } finally {
    await sender.stop();
    await server.close();
  }
}

async function oneRun(stage: Stage, options: MessagesBenchOptions) {
  const calibration = {
    bare_koa: await bareKoa(options.seconds),
    bare_smtp: await bareSmtp(options.backlog),
  };
  const api = startRole('api', { ...stage.settings, EMAIL_PROVIDER_URL: 'capture:' });
  try {
    await waitForApi(stage.apiPort);
    const accept = await accepted(stage, api, options.seconds);
    const endToEnd = await latency(stage, options.latencySeconds);
    await api.stop();
    const drain = await drained(stage, options);
    return { calibration, accept, drain, latency_at_20_per_second: endToEnd };
  } finally {
    await api.stop();
  }
}

/** `npm run bench -- messages`: accepted requests, drained messages and latency, each run with its calibrations. */
export async function benchMessages(options: MessagesBenchOptions) {
  const stage = await openStage();
  try {
    const { runs, of } = await repeatRuns(options.runs, () => oneRun(stage, options));
    return {
      medians: {
        accepted_per_second: of((run) => run.accept.requests_per_second),
        accepted_p50_ms: of((run) => run.accept.p50_ms),
        accepted_p99_ms: of((run) => run.accept.p99_ms),
        accepted_with_key_per_second: of((run) => run.accept.with_key.requests_per_second),
        accepted_share_of_bare_koa: of(
          (run) => run.accept.requests_per_second / run.calibration.bare_koa.requests_per_second,
        ),
        drained_per_second: of((run) => run.drain.messages_per_second),
        drained_share_of_bare_smtp: of(
          (run) => run.drain.messages_per_second / run.calibration.bare_smtp.messages_per_second,
        ),
        sender_peak_memory_mb: of((run) => run.drain.sender_peak_memory_mb),
        end_to_end_p50_ms: of((run) => run.latency_at_20_per_second.p50_ms),
        end_to_end_p99_ms: of((run) => run.latency_at_20_per_second.p99_ms),
      },
      runs,
    };
  } finally {
    await stage.close();
  }
}
