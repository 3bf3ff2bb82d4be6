import { setTimeout as sleep } from 'node:timers/promises';
import type { EngineServer } from '../../src/local/engine/server.ts';
import { type CountingServer, startCountingServer } from '../support/smtp/counting-server.ts';
import { ask } from './ask.ts';
import { withEngine } from './campaign.ts';
import { smallAccount } from './fairness.ts';
import { engineCost } from './flow-engine.ts';
import { median, percentile, rounded } from './machine.ts';
import { waitForApi } from './messages.ts';
import { usageOf, type Usage } from './process-usage.ts';
import { type Measured, startRole } from './programs.ts';
import { repeatRuns, untilCount } from './runs.ts';
import { openStage, type Stage } from './stage.ts';

export interface FlowBenchOptions {
  runs: number;
  /** Number of runs that are started as fast as the service accepts them. */
  entries: number;
  /** Duration of the latency measurement in seconds, and the number of events per second. */
  seconds: number;
  rate: number;
  workers: number;
  /** A checkout to measure in turn with this one, on the same database and engine. */
  beside?: string;
  /** Number of entries in a burst, during which a campaign is sent; 0: no burst. */
  burst: number;
  /** Number of runs that sleep while the memory of the workers is read; 0: none. */
  sleeping: number;
}

const LIMIT_MS = 30 * 60_000;
const EVENTS_AT_ONCE = 500;
const WARM_UP_RUNS = 50;
const CAMPAIGN_RECIPIENTS = 10;
/** Number of runs of another account during a burst. */
const NEIGHBOUR_RUNS = 10;

const email = (subject: string) => ({
  type: 'email',
  subject,
  body: `<p>Hi {{ contact.first_name }}: ${subject}</p>`,
});

/** Six steps. The event that the fifth step waits for never arrives. */
const STEPS = [
  email('First'),
  { type: 'wait', duration: 2 },
  {
    type: 'condition',
    filters: [{ name: 'first_name', predicate: 'start', value: 'Ada' }],
    yes: [email('Second')],
    no: [],
  },
  { type: 'wait_for_event', event_name: 'bench_order', duration: 5, yes: [], no: [email('Third')] },
];

interface Running {
  api: Measured;
  workers: Measured[];
  sender: Measured;
  engine: EngineServer;
  smtp: CountingServer;
  /** When the first mail to an address arrived. */
  arrivals: Map<string, number>;
}

/** Inserts contacts `<prefix>0@example.com` and so on. */
async function insertContacts(
  { database: { pool }, accountId, brandId }: Stage,
  prefix: string,
  count: number,
): Promise<number[]> {
  const { rows } = await pool.query<{ id: number }>(
    `insert into contacts (account_id, brand_id, first_name, email, email_key, email_subscribed, email_opt_in_at,
       email_created_at, email_updated_at)
     select $1, $2, 'Ada' || n, $3 || n || '@example.com', $3 || n || '@example.com', true, now(), now(), now()
     from generate_series(0, $4::int - 1) n returning id`,
    [accountId, brandId, prefix, count],
  );
  return rows.map(({ id }) => id);
}

async function activate(stage: Stage, event: string, steps: object[] = STEPS): Promise<number> {
  const body = { name: event, trigger: { event }, steps };
  const { id } = await ask<{ id: number }>(stage, 'POST', '/flows', body);
  await ask(stage, 'POST', `/flows/${id}/activate`);
  return id;
}

/** Tracks an event for contacts of a prefix, in consecutive batches. */
async function trackAll(stage: Stage, event: string, prefix: string, count: number): Promise<void> {
  for (let first = 0; first < count; first += EVENTS_AT_ONCE) {
    const events = Array.from({ length: Math.min(EVENTS_AT_ONCE, count - first) }, (_, n) => ({
      event,
      contact_email: `${prefix}${first + n}@example.com`,
    }));
    await ask(stage, 'POST', '/events/batch', { events });
  }
}

interface Progress {
  /** Number of runs that have done their first step, and when the last of them did. */
  started: number;
  lastStartAt: number;
  ended: number;
  steps: number;
}

async function progressOf({ database: { pool } }: Stage, flowId: number): Promise<Progress> {
  const { rows } = await pool.query<Progress>(
    `select count(*) filter (where s.n = 0)::int as started, count(*)::int as steps,
       coalesce(extract(epoch from max(m.created_at)) * 1000, 0)::float8 as "lastStartAt",
       (select count(*)::int from flow_runs where flow_id = $1 and state <> 'active') as ended
     from flow_run_steps s left join messages m on m.id = s.message_id and s.n = 0
     where s.flow_id = $1`,
    [flowId],
  );
  return rows[0] as Progress;
}

async function until(
  stage: Stage,
  flowId: number,
  name: 'started' | 'ended',
  count: number,
): Promise<Progress> {
  const end = performance.now() + LIMIT_MS;
  for (;;) {
    const progress = await progressOf(stage, flowId);
    if (progress[name] >= count) return progress;
    if (performance.now() > end) throw new Error(`only ${progress[name]} of ${count} runs have ${name}`);
    // Counting takes longer the more runs there are, and would distort the measurement.
    await sleep(Math.max(250, count / 2));
  }
}

type Usages = Record<string, Usage>;

function usagesOf(stage: Stage, { api, workers, sender, engine }: Running): Usages {
  return {
    api: api.usage(),
    ...Object.fromEntries(workers.map((worker, n) => [`worker_${n + 1}`, worker.usage()])),
    sender: sender.usage(),
    engine: usageOf(engine.pid),
    postgres: stage.postgresUsage(),
  };
}

const msPer = (before: Usages, after: Usages, count: number) =>
  Object.fromEntries(
    Object.entries(after).map(([name, { cpuSeconds }]) => [
      name,
      rounded(((cpuSeconds - (before[name]?.cpuSeconds ?? 0)) * 1_000) / count, 2),
    ]),
  );

/** Starts runs as fast as the service accepts them, and waits until they have ended. */
async function throughput(stage: Stage, running: Running, { entries }: FlowBenchOptions) {
  await insertContacts(stage, 'load', entries);
  const flowId = await activate(stage, 'bench_load');
  const before = usagesOf(stage, running);
  const startedAt = Date.now();
  await trackAll(stage, 'bench_load', 'load', entries);
  const { lastStartAt } = await until(stage, flowId, 'started', entries);
  const { steps } = await until(stage, flowId, 'ended', entries);
  const seconds = (Date.now() - startedAt) / 1_000;
  const after = usagesOf(stage, running);
  const cpu = msPer(before, after, steps);
  return {
    runs_started_per_second: rounded(entries / ((lastStartAt - startedAt) / 1_000)),
    steps_per_second: rounded(steps / seconds),
    engine: await engineCost(stage, running.engine.address, flowId),
    cpu_ms_per_step: cpu,
    cpu_ms_per_step_of_all: rounded(
      Object.values(cpu).reduce((sum, each) => sum + each, 0),
      2,
    ),
    peak_memory_mb: Object.fromEntries(
      Object.entries(after).map(([name, { peakMemoryMb }]) => [name, rounded(peakMemoryMb)]),
    ),
  };
}

/** Measures from POST /events to the run's first mail, at a steady rate. */
async function latency(stage: Stage, { arrivals }: Running, { seconds, rate }: FlowBenchOptions) {
  const count = seconds * rate;
  await insertContacts(stage, 'steady', count);
  await activate(stage, 'bench_steady');
  const posted = new Map<string, number>();
  const startedAt = performance.now();
  const requests: Promise<unknown>[] = [];
  for (let n = 0; n < count; n += 1) {
    const due = startedAt + (n * 1_000) / rate;
    if (due > performance.now()) await sleep(due - performance.now());
    const to = `steady${n}@example.com`;
    posted.set(to, performance.now());
    requests.push(ask(stage, 'POST', '/events', { event: 'bench_steady', contact_email: to }));
  }
  await Promise.all(requests);
  const arrived = () => Promise.resolve([...posted.keys()].filter((to) => arrivals.has(to)).length);
  await untilCount(arrived, count, LIMIT_MS);
  const times = [...posted].map(([to, at]) => (arrivals.get(to) ?? Infinity) - at);
  return {
    rate,
    p50_ms: rounded(percentile(times, 0.5)),
    p99_ms: rounded(percentile(times, 0.99)),
    max_ms: rounded(Math.max(...times)),
  };
}

/** How long a campaign takes to send its first mail. */
async function campaignBeside(stage: Stage, { arrivals }: Running): Promise<number> {
  const contacts = await insertContacts(stage, 'campaign', CAMPAIGN_RECIPIENTS);
  const { id: listId } = await ask<{ id: number }>(stage, 'POST', '/lists', { name: 'Beside' });
  await stage.database.pool.query(
    'insert into list_members (list_id, contact_id) select $1, unnest($2::bigint[])',
    [listId, contacts],
  );
  const { id } = await ask<{ id: number }>(stage, 'POST', '/campaigns', {
    name: 'Beside',
    trigger_attributes: { contact_list_id: listId },
    template_attributes: { subject: 'News', body: '<p>News</p>' },
  });
  const sentAt = performance.now();
  await ask(stage, 'POST', `/campaigns/${id}/send`, {});
  const arrived = () =>
    Promise.resolve([...arrivals.keys()].filter((to) => to.startsWith('campaign')).length);
  await untilCount(arrived, 1, LIMIT_MS);
  return rounded(
    Math.min(...[...arrivals].flatMap(([to, at]) => (to.startsWith('campaign') ? at : []))) - sentAt,
  );
}

/** A second account with the same right to send as the first. */
async function otherAccount(stage: Stage): Promise<Stage> {
  const { pool } = stage.database;
  const { accountId, key } = await smallAccount(stage);
  const { rows } = await pool.query<{ id: number }>(
    `update brands set physical_address = '1 Road, Town' where account_id = $1 returning id`,
    [accountId],
  );
  return { ...stage, accountId, brandId: rows[0]?.id ?? 0, apiKey: key };
}

/** Measures from POST /events to the first mail of another account's runs, one run after another. */
async function neighbourBeside(stage: Stage, { arrivals }: Running): Promise<number[]> {
  const other = await otherAccount(stage);
  await insertContacts(other, 'neighbour', NEIGHBOUR_RUNS);
  await activate(other, 'bench_neighbour');
  const times: number[] = [];
  for (let n = 0; n < NEIGHBOUR_RUNS; n += 1) {
    const to = `neighbour${n}@example.com`;
    const postedAt = performance.now();
    await ask(other, 'POST', '/events', { event: 'bench_neighbour', contact_email: to });
    await untilCount(() => Promise.resolve(arrivals.has(to) ? 1 : 0), 1, LIMIT_MS);
    times.push(rounded((arrivals.get(to) ?? Infinity) - postedAt));
  }
  return times;
}

/** Many entries at once, a campaign sent in the middle of them, and runs of another account. */
async function burst(stage: Stage, running: Running, { burst: count }: FlowBenchOptions) {
  if (count === 0) return null;
  await insertContacts(stage, 'burst', count);
  const flowId = await activate(stage, 'bench_burst');
  const startedAt = Date.now();
  await trackAll(stage, 'bench_burst', 'burst', count);
  const acceptedAt = Date.now();
  const campaignMs = await campaignBeside(stage, running);
  const neighbourMs = await neighbourBeside(stage, running);
  const { lastStartAt } = await until(stage, flowId, 'started', count);
  return {
    events: count,
    accepted_after_seconds: rounded((acceptedAt - startedAt) / 1_000),
    last_run_started_after_seconds: rounded((lastStartAt - startedAt) / 1_000),
    campaign_to_first_mail_ms: campaignMs,
    neighbour_to_first_mail_ms: neighbourMs,
  };
}

/** The cost of runs that wait for a day. */
async function sleepers(stage: Stage, { workers, engine }: Running, { sleeping: count }: FlowBenchOptions) {
  if (count === 0) return null;
  const memory = () => workers.map(({ pid }) => rounded(usageOf(pid).memoryMb));
  await insertContacts(stage, 'asleep', count);
  const flowId = await activate(stage, 'bench_sleep', [{ type: 'wait', duration: 86_400 }, email('Later')]);
  const before = { workers: memory(), engine: rounded(usageOf(engine.pid).memoryMb) };
  await trackAll(stage, 'bench_sleep', 'asleep', count);
  const asleep = async () => {
    const { rows } = await stage.database.pool.query<{ count: number }>(
      `select count(*)::int as count from flow_runs where flow_id = $1 and waits_for = 'time'`,
      [flowId],
    );
    return rows[0]?.count ?? 0;
  };
  await untilCount(asleep, count, LIMIT_MS);
  await sleep(10_000);
  return {
    runs: count,
    memory_mb_before: before,
    memory_mb: { workers: memory(), engine: rounded(usageOf(engine.pid).memoryMb) },
  };
}

/** One run of one checkout. */
async function oneRun(
  stage: Stage,
  engine: EngineServer,
  options: FlowBenchOptions,
  folder: string | undefined,
) {
  await stage.database.pool.query(
    'truncate contacts, flows, messages, message_contents, message_events, send_queue, handovers, outbox cascade',
  );
  const arrivals = new Map<string, number>();
  const smtp = await startCountingServer({
    port: 0,
    keep: true,
    onMessage: ({ to }) => void (arrivals.has(to) || arrivals.set(to, performance.now())),
  });
  const settings = {
    ...stage.settings,
    TEMPORAL_ADDRESS: engine.address,
    PUBLIC_URL: 'https://carillon.bench.test',
    OPS_PORT: '0',
    EMAIL_PROVIDER_URL: `smtp://127.0.0.1:${smtp.port}?tls=off&dkim=off`,
  };
  const start = (role: string) => startRole(role, settings, undefined, folder);
  const api = start('api');
  const sender = start('sender');
  const workers = Array.from({ length: options.workers }, () => start('worker'));
  try {
    await waitForApi(stage.apiPort);
    const running = { api, workers, sender, engine, smtp, arrivals };
    await insertContacts(stage, 'warm', WARM_UP_RUNS);
    const warm = await activate(stage, 'bench_warm');
    await trackAll(stage, 'bench_warm', 'warm', WARM_UP_RUNS);
    await until(stage, warm, 'ended', WARM_UP_RUNS);
    return {
      throughput: await throughput(stage, running, options),
      latency: await latency(stage, running, options),
      burst: await burst(stage, running, options),
      sleeping: await sleepers(stage, running, options),
    };
  } finally {
    await Promise.all([api, sender, ...workers].map((role) => role.stop()));
    await smtp.close();
  }
}

type FlowRunFigures = Awaited<ReturnType<typeof oneRun>>;

function mediansOf(runs: readonly FlowRunFigures[]): Record<string, number> {
  const of = (pick: (run: FlowRunFigures) => number) => rounded(median(runs.map(pick)), 2);
  const processes = Object.keys(runs[0]?.throughput.cpu_ms_per_step ?? {});
  return {
    runs_started_per_second: of((run) => run.throughput.runs_started_per_second),
    steps_per_second: of((run) => run.throughput.steps_per_second),
    engine_operations_per_step: of((run) => run.throughput.engine.operations_per_step),
    cpu_ms_per_step: of((run) => run.throughput.cpu_ms_per_step_of_all),
    ...Object.fromEntries(
      processes.map((name) => [
        `${name}_ms_per_step`,
        of((run) => run.throughput.cpu_ms_per_step[name] ?? 0),
      ]),
    ),
    event_to_first_mail_p50_ms: of((run) => run.latency.p50_ms),
    event_to_first_mail_p99_ms: of((run) => run.latency.p99_ms),
  };
}

/** Measures this checkout, in turn with the other one if there is one. */
async function measureAll(stage: Stage, engine: EngineServer, options: FlowBenchOptions) {
  const { beside } = options;
  const runsBeside: FlowRunFigures[] = [];
  const { runs } = await repeatRuns(options.runs, async () => {
    if (beside !== undefined) {
      runsBeside.push(await oneRun(stage, engine, options, beside));
      process.stderr.write(`beside: ${JSON.stringify(runsBeside.at(-1))}\n`);
    }
    return oneRun(stage, engine, options, undefined);
  });
  const medians = mediansOf(runs);
  if (beside === undefined) return { medians, runs };
  const mediansBeside = mediansOf(runsBeside);
  const shares = Object.entries(medians).map(([name, value]): [string, number] => [
    name,
    rounded(value / (mediansBeside[name] ?? NaN), 3),
  ]);
  return {
    medians,
    medians_beside: mediansBeside,
    shares: Object.fromEntries(shares),
    runs,
    runs_beside: runsBeside,
  };
}

/** `npm run bench -- flows`: runs of a flow with six steps, from the event to the last mail. */
export async function benchFlows(options: FlowBenchOptions) {
  const stage = await openStage();
  try {
    return await withEngine(stage, async (engine) => {
      await stage.database.pool.query(`update brands set physical_address = '1 Road, Town' where id = $1`, [
        stage.brandId,
      ]);
      return measureAll(stage, engine, options);
    });
  } finally {
    await stage.close();
  }
}
