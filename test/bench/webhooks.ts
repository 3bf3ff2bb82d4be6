import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createWaker } from '../../src/platform/db/wake.ts';
import { startSubscriber } from './https-subscriber.ts';
import { percentile, rounded } from './machine.ts';
import { cpuPer } from './process-usage.ts';
import { startRole, startInteractive, type Interactive } from './programs.ts';
import { repeatRuns, untilCount } from './runs.ts';
import { runSignedPosts } from './signed-posts.ts';
import { openStage, type Stage } from './stage.ts';
import { publish, subscribe } from './subscribers.ts';
import { failingUnderLoad } from './webhook-failures.ts';

export interface WebhooksBenchOptions {
  runs: number;
  deliveries: number;
  endpoints: number;
  dead: number;
  latencySeconds: number;
}

const CONNECTIONS = 64;
const LIMIT_MS = 300_000;
const LATENCY_PER_SECOND = 20;
const BUSY_ENDPOINTS = 10;
const SUBSCRIBER = 'test/bench/https-subscriber.ts';

export function senderSettings(stage: Stage): Record<string, string> {
  return {
    ...stage.settings,
    EMAIL_PROVIDER_URL: 'capture:',
    EGRESS_ALLOW: '127.0.0.0/8',
    NODE_EXTRA_CA_CERTS: fileURLToPath(new URL('../support/tls/ca.pem', import.meta.url)),
  };
}

async function empty(stage: Stage): Promise<void> {
  await stage.database.pool.query(
    'truncate webhooks, webhook_queue, webhook_deliveries, webhook_attempts, events restart identity cascade',
  );
}

async function bareLoop(requests: number) {
  const server = await startInteractive(SUBSCRIBER);
  try {
    const port = server.first.port ?? 0;
    await runSignedPosts({ port, connections: CONNECTIONS, requests: requests / 4 });
    return await runSignedPosts({ port, connections: CONNECTIONS, requests });
  } finally {
    await server.stop();
  }
}

/**
 * Queues `each` webhook deliveries for every endpoint, and measures until the healthy endpoints have acknowledged
 * theirs.
 */
async function acknowledged(stage: Stage, urls: string[], each: number, server: Interactive) {
  await empty(stage);
  const brands = await subscribe(stage, urls);
  await publish(stage, brands, each);
  await stage.database.pool.query('vacuum analyze webhooks, webhook_queue, webhook_deliveries, events');
  const healthy = each * urls.filter((url) => url.endsWith('/ok')).length;
  const count = async () => (await server.ask('count')).count ?? 0;
  const already = await count();
  const sender = startRole('sender', senderSettings(stage));
  try {
    // The first tenth warms up the sender.
    await untilCount(count, already + healthy / 10, LIMIT_MS);
    const startedAt = performance.now();
    const before = { count: await count(), sender: sender.usage(), postgres: stage.postgresUsage() };
    await untilCount(count, already + healthy, LIMIT_MS);
    const seconds = (performance.now() - startedAt) / 1_000;
    const made = already + healthy - before.count;
    return {
      deliveries_per_second: rounded(made / seconds),
      sender_cpu_us_per_delivery: cpuPer(before.sender, sender.usage(), made),
      postgres_cpu_us_per_delivery: cpuPer(before.postgres, stage.postgresUsage(), made),
      sender_peak_memory_mb: rounded(sender.usage().peakMemoryMb),
    };
  } finally {
    await sender.stop();
  }
}

/** Measures from an event's commit to the request's last byte at the subscriber, at 20 events per second. */
async function latency(stage: Stage, seconds: number) {
  await empty(stage);
  const arrivals: number[] = [];
  const subscriber = await startSubscriber(() => void arrivals.push(performance.now()));
  const brands = await subscribe(stage, [`https://127.0.0.1:${subscriber.port}/ok`]);
  const waker = createWaker({ url: stage.database.url });
  const sender = startRole('sender', senderSettings(stage));
  const measured: number[] = [];
  try {
    await publish(stage, brands, 1);
    await untilCount(() => Promise.resolve(arrivals.length), 1, LIMIT_MS);
    const warmUp = 2 * LATENCY_PER_SECOND;
    for (let n = 0; n < warmUp + seconds * LATENCY_PER_SECOND; n++) {
      await sleep(1_000 / LATENCY_PER_SECOND);
      const arrived = arrivals.length;
      await publish(stage, brands, 1);
      const committedAt = performance.now();
      waker.wake('webhook');
      await untilCount(() => Promise.resolve(arrivals.length), arrived + 1, LIMIT_MS);
      if (n >= warmUp) measured.push((arrivals[arrived] ?? Infinity) - committedAt);
    }
    return { p50_ms: rounded(percentile(measured, 0.5), 2), p99_ms: rounded(percentile(measured, 0.99), 2) };
  } finally {
    await waker.close();
    await sender.stop();
    await subscriber.close();
  }
}

/** Measures the same number of endpoints twice: all healthy, then some silent. Nothing else differs. */
async function manyEndpoints(stage: Stage, options: WebhooksBenchOptions, server: Interactive) {
  const { endpoints, dead, deliveries } = options;
  const base = `https://127.0.0.1:${server.first.port}`;
  const each = Math.max(1, Math.round(deliveries / endpoints));
  const gap = Math.floor(endpoints / dead);
  const url = (n: number, silent: number) => `${base}/${n % gap === 0 && n / gap < silent ? 'silent' : 'ok'}`;
  const urls = (silent: number) => Array.from({ length: endpoints }, (_, n) => url(n, silent));
  const healthy = await acknowledged(stage, urls(0), each, server);
  const some = await acknowledged(stage, urls(dead), each, server);
  return { all_healthy: healthy, some_dead: some };
}

async function oneRun(stage: Stage, options: WebhooksBenchOptions) {
  const calibration = await bareLoop(options.deliveries);
  const server = await startInteractive(SUBSCRIBER);
  try {
    const url = `https://127.0.0.1:${server.first.port}/ok`;
    const busyUrls = Array.from({ length: BUSY_ENDPOINTS }, () => url);
    const busy = await acknowledged(stage, busyUrls, options.deliveries / BUSY_ENDPOINTS, server);
    const many = await manyEndpoints(stage, options, server);
    const endToEnd = await latency(stage, options.latencySeconds);
    return { calibration, busy, many_endpoints: many, latency_at_20_per_second: endToEnd };
  } finally {
    await server.stop();
  }
}

/** `npm run bench -- webhooks`: deliveries/s, latency, and what dead endpoints cost the others and the engine. */
export async function benchWebhooks(options: WebhooksBenchOptions) {
  const stage = await openStage();
  try {
    const { runs, of } = await repeatRuns(options.runs, () => oneRun(stage, options));
    await empty(stage);
    const failures = await failingUnderLoad(stage, senderSettings(stage));
    return {
      medians: {
        delivered_per_second: of((run) => run.busy.deliveries_per_second),
        delivered_share_of_bare_posts: of(
          (run) => run.busy.deliveries_per_second / run.calibration.posts_per_second,
        ),
        delivered_per_second_to_many: of((run) => run.many_endpoints.all_healthy.deliveries_per_second),
        cost_of_dead_endpoints: of(
          ({ many_endpoints: { all_healthy: all, some_dead: some } }) =>
            1 - some.deliveries_per_second / all.deliveries_per_second,
        ),
        commit_to_arrival_p50_ms: of((run) => run.latency_at_20_per_second.p50_ms),
        commit_to_arrival_p99_ms: of((run) => run.latency_at_20_per_second.p99_ms),
        sender_peak_memory_mb: of((run) => run.busy.sender_peak_memory_mb),
        engine_events_per_failed_attempt: failures.engine_events_per_failed_attempt,
      },
      failures,
      runs,
    };
  } finally {
    await stage.close();
  }
}
