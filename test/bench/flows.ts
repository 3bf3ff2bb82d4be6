import { setTimeout as sleep } from 'node:timers/promises';
import type { EngineServer } from '../../src/local/engine/server.ts';
import { startCountingServer } from '../support/smtp/counting-server.ts';
import { ask } from './ask.ts';
import { withEngine } from './campaign.ts';
import { smallAccount } from './fairness.ts';
import { type BurstOptions, measureBurst } from './flow-burst.ts';
import { engineCost } from './flow-engine.ts';
import {
  activate,
  cpuPerStep,
  doneIn,
  email,
  insertContacts,
  LIMIT_MS,
  peakMemoryMb,
  type Running,
  trackAll,
  untilRuns,
  usagesOf,
} from './flow-stage.ts';
import { median, percentile, rounded } from './machine.ts';
import { waitForApi } from './messages.ts';
import { usageOf } from './process-usage.ts';
import { startRole } from './programs.ts';
import { repeatRuns, untilCount } from './runs.ts';
import { openStage, type Stage } from './stage.ts';

export interface FlowBenchOptions extends BurstOptions {
  runs: number;
  /** Number of runs that are started as fast as the service accepts them, each with a workflow of its own. */
  entries: number;
  /** Duration of the latency measurement in seconds, and the number of events per second. */
  seconds: number;
  rate: number;
  workers: number;
  /** A checkout to measure in turn with this one, on the same database and engine. */
  beside?: string;
  /** Number of runs that sleep while the memory of the workers is read; 0: none. */
  sleeping: number;
}

const WARM_UP_RUNS = 50;
/** Events of a request, so few that the runs are never put into a cohort. */
const EVENTS_OF_SINGLE_RUNS = 50;

/** Lets contacts enter a flow as fast as their entries are judged, so that each run has a workflow of its own. */
function startSingleRuns(
  stage: Stage,
  flowId: number,
  { event, prefix, count }: { event: string; prefix: string; count: number },
) {
  return trackAll(
    stage,
    { event, prefix, count },
    { batch: EVENTS_OF_SINGLE_RUNS, between: (tracked) => untilRuns(stage, flowId, 'entered', tracked) },
  );
}

/** Starts runs as fast as the service accepts them, and waits until they have ended. */
async function throughput(stage: Stage, running: Running, { entries: count }: FlowBenchOptions) {
  await insertContacts(stage, 'load', count);
  const flowId = await activate(stage, 'bench_load');
  const before = usagesOf(stage, running);
  const startedAt = Date.now();
  await startSingleRuns(stage, flowId, { event: 'bench_load', prefix: 'load', count });
  await untilRuns(stage, flowId, 'ended', count);
  const after = usagesOf(stage, running);
  const { steps, lastStartAt, lastEndAt } = await doneIn(stage, flowId);
  return {
    runs_started_per_second: rounded((count * 1_000) / (lastStartAt - startedAt)),
    steps_per_second: rounded((steps * 1_000) / (lastEndAt - startedAt)),
    engine: await engineCost(stage, running.engine.address, flowId),
    ...cpuPerStep(before, after, steps),
    peak_memory_mb: peakMemoryMb(after),
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

/** The cost of runs that wait for a day. */
async function sleepers(stage: Stage, { workers, engine }: Running, { sleeping: count }: FlowBenchOptions) {
  if (count === 0) return null;
  const memory = () => workers.map(({ pid }) => rounded(usageOf(pid).memoryMb));
  await insertContacts(stage, 'asleep', count);
  const flowId = await activate(stage, 'bench_sleep', [{ type: 'wait', duration: 86_400 }, email('Later')]);
  const before = { workers: memory(), engine: rounded(usageOf(engine.pid).memoryMb) };
  await trackAll(stage, { event: 'bench_sleep', prefix: 'asleep', count });
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

interface FlowBench {
  stage: Stage;
  /** The same stage with another account. */
  other: Stage;
  engine: EngineServer;
}

/** One run of one checkout. */
async function oneRun(
  { stage, other, engine }: FlowBench,
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
    await startSingleRuns(stage, warm, { event: 'bench_warm', prefix: 'warm', count: WARM_UP_RUNS });
    await untilRuns(stage, warm, 'ended', WARM_UP_RUNS);
    return {
      throughput: await throughput(stage, running, options),
      latency: await latency(stage, running, options),
      burst: options.burst > 0 ? await measureBurst(stage, other, running, options) : null,
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
    engine_operations_per_step: of((run) => run.throughput.engine.single.operations_per_step),
    cpu_ms_per_step: of((run) => run.throughput.cpu_ms_per_step_of_all),
    ...Object.fromEntries(
      processes.map((name) => [
        `${name}_ms_per_step`,
        of((run) => run.throughput.cpu_ms_per_step[name] ?? 0),
      ]),
    ),
    event_to_first_mail_p50_ms: of((run) => run.latency.p50_ms),
    event_to_first_mail_p99_ms: of((run) => run.latency.p99_ms),
    ...(runs[0]?.burst ? { burst_steps_per_second: of((run) => run.burst?.steps_per_second ?? NaN) } : {}),
  };
}

/** Measures this checkout, in turn with the other one if there is one. */
async function measureAll(bench: FlowBench, options: FlowBenchOptions) {
  const { beside } = options;
  const runsBeside: FlowRunFigures[] = [];
  const { runs } = await repeatRuns(options.runs, async () => {
    if (beside !== undefined) {
      runsBeside.push(await oneRun(bench, options, beside));
      process.stderr.write(`beside: ${JSON.stringify(runsBeside.at(-1))}\n`);
    }
    return oneRun(bench, options, undefined);
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

/** `npm run bench -- flows`: runs of a flow with six steps, from the event to the last mail, singly and in cohorts. */
export async function benchFlows(options: FlowBenchOptions) {
  const stage = await openStage({ statements: options.statements });
  try {
    return await withEngine(stage, async (engine) => {
      await stage.database.pool.query(`update brands set physical_address = '1 Road, Town' where id = $1`, [
        stage.brandId,
      ]);
      return measureAll({ stage, other: await otherAccount(stage), engine }, options);
    });
  } finally {
    await stage.close();
  }
}
