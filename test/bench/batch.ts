import { randomUUID } from 'node:crypto';
import { loadHttp, type LoadOptions } from './http-load.ts';
import { rounded } from './machine.ts';
import { bareKoa, waitForApi } from './messages.ts';
import { cpuPer } from './process-usage.ts';
import { type Measured, startRole } from './programs.ts';
import { repeatRuns } from './runs.ts';
import { openStage, type Stage } from './stage.ts';

export interface BatchBenchOptions {
  runs: number;
  seconds: number;
  /** Messages of a batch. */
  messages: number;
}

/** Requests per second that are measured beside batches, over as many connections as answer them in time. */
const BESIDE_PER_SECOND = 50;
const BESIDE_CONNECTIONS = 8;
const WARM_UP_SECONDS = 4;

const message = (n: number) => ({
  channel: 'email',
  to: `recipient${n}@example.com`,
  subject: 'Your receipt',
  html: '<p>Thank you for your order.</p>',
  body: 'Thank you for your order.',
});

async function count({ database }: Stage): Promise<number> {
  const { rows } = await database.pool.query<{ count: number }>(
    'select count(*)::int as count from messages',
  );
  return rows[0]?.count ?? 0;
}

/** Measures requests with many messages, or one each, and counts the messages that they wrote. */
async function measured(stage: Stage, api: Measured, options: LoadOptions) {
  const before = { messages: await count(stage), api: api.usage(), postgres: stage.postgresUsage() };
  const { p50_ms: p50, p99_ms: p99, errors } = await loadHttp(options);
  const messages = (await count(stage)) - before.messages;
  if (errors > 0) throw new Error(`${errors} requests failed`);
  return {
    messages_per_second: rounded(messages / options.seconds),
    p50_ms: p50,
    p99_ms: p99,
    api_cpu_us_per_message: cpuPer(before.api, api.usage(), messages),
    postgres_cpu_us_per_message: cpuPer(before.postgres, stage.postgresUsage(), messages),
  };
}

async function oneRun(stage: Stage, { seconds, messages }: BatchBenchOptions) {
  const calibration = { bare_koa: await bareKoa(seconds) };
  const api = startRole('api', { ...stage.settings, EMAIL_PROVIDER_URL: 'capture:' });
  const shared = { port: stage.apiPort, headers: { Authorization: `Bearer ${stage.apiKey}` }, seconds };
  const single: LoadOptions = {
    ...shared,
    path: '/v1/my/messages',
    connections: 1,
    body: (n) => JSON.stringify(message(n)),
  };
  const batch: LoadOptions = {
    ...shared,
    path: '/v1/my/messages/batch',
    connections: 1,
    body: (n) =>
      JSON.stringify({ messages: Array.from({ length: messages }, (_, k) => message(n * messages + k)) }),
  };
  const beside: LoadOptions = { ...single, connections: BESIDE_CONNECTIONS, rate: BESIDE_PER_SECOND };
  const keys = randomUUID();
  try {
    await waitForApi(stage.apiPort);
    await loadHttp({ ...single, seconds: WARM_UP_SECONDS });
    await loadHttp({ ...batch, seconds: WARM_UP_SECONDS });
    const singles = await measured(stage, api, single);
    const batches = await measured(stage, api, batch);
    const withKey = await measured(stage, api, { ...batch, key: (n) => `${keys}-${n}` });
    const atomic = await measured(stage, api, { ...batch, path: `${batch.path}?atomic=true` });
    const alone = await loadHttp(beside);
    const [among] = await Promise.all([loadHttp(beside), loadHttp(batch)]);
    const p99 = { alone: alone.p99_ms, beside_batches: among.p99_ms };
    return {
      ...{ calibration, singles, batches, with_key: withKey, atomic, singles_p99_ms: p99 },
      api_peak_memory_mb: rounded(api.usage().peakMemoryMb),
    };
  } finally {
    await api.stop();
  }
}

/** `npm run bench -- batch`: messages of batches against single requests, over one connection each. */
export async function benchBatch(options: BatchBenchOptions) {
  const stage = await openStage();
  try {
    const { runs, of } = await repeatRuns(options.runs, () => oneRun(stage, options));
    return {
      medians: {
        singles_per_second: of((run) => run.singles.messages_per_second),
        batches_per_second: of((run) => run.batches.messages_per_second),
        batches_to_singles: of((run) => run.batches.messages_per_second / run.singles.messages_per_second),
        with_key_per_second: of((run) => run.with_key.messages_per_second),
        atomic_per_second: of((run) => run.atomic.messages_per_second),
        batch_p50_ms: of((run) => run.batches.p50_ms),
        batch_p99_ms: of((run) => run.batches.p99_ms),
        singles_p99_ms_alone: of((run) => run.singles_p99_ms.alone),
        singles_p99_ms_beside_batches: of((run) => run.singles_p99_ms.beside_batches),
        api_peak_memory_mb: of((run) => run.api_peak_memory_mb),
      },
      runs,
    };
  } finally {
    await stage.close();
  }
}
