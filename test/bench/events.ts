import { randomUUID } from 'node:crypto';
import { type EventsFilling, fillWithEvents, NAMES } from './events-fill.ts';
import { loadHttp, type LoadResult } from './http-load.ts';
import { rounded } from './machine.ts';
import { bareKoa, waitForApi } from './messages.ts';
import { cpuPer } from './process-usage.ts';
import { type Measured, startRole } from './programs.ts';
import { repeatRuns } from './runs.ts';
import { openStage, type Stage } from './stage.ts';

export interface EventsBenchOptions extends EventsFilling {
  runs: number;
  seconds: number;
  /** Number of events per batch. */
  batch: number;
}

const CONNECTIONS = 32;
const BATCH_CONNECTIONS = 3;
const WARM_UP_SECONDS = 4;

/** Event `n`. Every second event names its contact by address. */
function eventOf(n: number, { contacts }: EventsBenchOptions, firstContact: number) {
  const contact = (n * 104_729) % contacts;
  return {
    event: `event_${(n * 7_919) % NAMES}`,
    ...(n % 2 === 0
      ? { contact_email: `contact${contact}@example.com` }
      : { contact_id: firstContact + contact }),
    amount: n,
    data: { order: 'a-1042', items: 3 },
  };
}

/** Counts the events since a fixed time. A moving bound would miss some of the events that the brand already had. */
async function countOf(stage: Stage, since: Date): Promise<number> {
  const { rows } = await stage.database.pool.query<{ count: number }>(
    'select count(*) from contact_events where created_at >= $1 and updated_at >= $1',
    [since],
  );
  return rows[0]?.count ?? 0;
}

/**
 * Measures one kind of request.
 * @param each number of events per request
 */
async function measure(
  stage: Stage,
  api: Measured,
  seconds: number,
  each: number,
  send: (seconds: number) => Promise<LoadResult>,
) {
  await send(WARM_UP_SECONDS);
  await stage.database.pool.query('checkpoint');
  const since = new Date();
  const before = { api: api.usage(), postgres: stage.postgresUsage() };
  const result = await send(seconds);
  const sent = result.requests * each;
  const usage = { api: api.usage(), postgres: stage.postgresUsage() };
  return {
    events_per_second: rounded(result.requests_per_second * each),
    p50_ms: result.p50_ms,
    p99_ms: result.p99_ms,
    errors: result.errors,
    api_cpu_us_per_event: cpuPer(before.api, usage.api, sent),
    postgres_cpu_us_per_event: cpuPer(before.postgres, usage.postgres, sent),
    /** Number of events with a 2xx response that the database does not have. */
    lost: sent - (await countOf(stage, since)),
  };
}

async function oneRun(stage: Stage, options: EventsBenchOptions, firstContact: number) {
  const { seconds, batch } = options;
  const calibration = await bareKoa(seconds);
  const api = startRole('api', { ...stage.settings, EMAIL_PROVIDER_URL: 'capture:' });
  const shared = { port: stage.apiPort, headers: { Authorization: `Bearer ${stage.apiKey}` } };
  let sent = 0;
  const single = (duration: number) => {
    const keys = randomUUID();
    return loadHttp({
      ...shared,
      path: '/v1/my/events',
      body: () => JSON.stringify(eventOf(sent++, options, firstContact)),
      key: (n) => `${keys}-${n}`,
      connections: CONNECTIONS,
      seconds: duration,
    });
  };
  const batched = (duration: number) => {
    const keys = randomUUID();
    const events = (n: number) =>
      Array.from({ length: batch }, (_, index) => ({
        ...eventOf(sent++, options, firstContact),
        idempotency_key: `${keys}-${n}-${index}`,
      }));
    return loadHttp({
      ...shared,
      path: '/v1/my/events/batch',
      body: (n) => JSON.stringify({ events: events(n) }),
      connections: BATCH_CONNECTIONS,
      seconds: duration,
    });
  };
  try {
    await waitForApi(stage.apiPort);
    return {
      calibration_bare_koa: calibration,
      single: await measure(stage, api, seconds, 1, single),
      batched: await measure(stage, api, seconds, batch, batched),
      api_peak_memory_mb: rounded(api.usage().peakMemoryMb),
    };
  } finally {
    await api.stop();
  }
}

/** Latency in ms of `GET /events` and `GET /events/{id}` at the filled size, each requested several times. */
async function reads(stage: Stage, firstContact: number) {
  const api = startRole('api', { ...stage.settings, EMAIL_PROVIDER_URL: 'capture:' });
  const { rows } = await stage.database.pool.query<{ oldest: number; newest: number }>(
    'select min(id) as oldest, max(id) as newest from contact_events',
  );
  const { oldest = 0, newest = 0 } = rows[0] ?? {};
  const paths = {
    newest: `/v1/my/events/${newest}`,
    oldest: `/v1/my/events/${oldest}`,
    missing: `/v1/my/events/${newest + 1_000_000}`,
    list: '/v1/my/events',
    list_of_frequent_name: '/v1/my/events?event=event_0',
    list_of_contact: `/v1/my/events?contact_id=${firstContact}`,
    list_deep: `/v1/my/events?after=${Math.floor((oldest + newest) / 2)}`,
  };
  try {
    await waitForApi(stage.apiPort);
    const found: Record<string, number> = {};
    for (const [name, path] of Object.entries(paths)) {
      const load = { port: stage.apiPort, path, headers: { Authorization: `Bearer ${stage.apiKey}` } };
      const result = await loadHttp({ ...load, get: () => path, connections: 1, seconds: 2 });
      found[`${name}_p50_ms`] = result.p50_ms;
    }
    return found;
  } finally {
    await api.stop();
  }
}

/** `npm run bench -- events`: tracked events, single and in batches, in a brand that has many. */
export async function benchEvents(options: EventsBenchOptions) {
  const stage = await openStage();
  try {
    await fillWithEvents(stage, options);
    const { rows } = await stage.database.pool.query<{ id: number }>(
      'select min(id) as id from contacts where brand_id = $1',
      [stage.brandId],
    );
    const firstContact = rows[0]?.id ?? 0;
    const readTimes = await reads(stage, firstContact);
    const { runs, of } = await repeatRuns(options.runs, () => oneRun(stage, options, firstContact));
    return {
      medians: {
        single_per_second: of((run) => run.single.events_per_second),
        single_p99_ms: of((run) => run.single.p99_ms),
        single_share_of_bare_koa: of(
          (run) => run.single.events_per_second / run.calibration_bare_koa.requests_per_second,
        ),
        batched_per_second: of((run) => run.batched.events_per_second),
        lost: of((run) => run.single.lost + run.batched.lost),
      },
      reads: readTimes,
      runs,
    };
  } finally {
    await stage.close();
  }
}
