/** What a message costs each process at everyday rates and under full load, from POST /messages to the SMTP server. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createApiKey } from '../../src/features/api-keys/service.ts';
import { createAccount } from '../../src/features/accounts/service.ts';
import { upkeep } from '../../src/features/upkeep.ts';
import { claimPort } from '../../src/local/machine/ports.ts';
import { RANGE_IDS } from '../../src/platform/db/id-ranges.ts';
import type { migrate } from '../../src/platform/db/migrate.ts';
import { keepPartitionsOf } from '../../src/platform/db/partitions.ts';
import { inTransaction } from '../../src/platform/db/queryable.ts';
import { startCountingServer } from '../support/smtp/counting-server.ts';
import { withEngine } from './campaign.ts';
import { loadHttp } from './http-load.ts';
import { bodyOf, makePay, subscribeTo } from './live.ts';
import { median, percentile, rounded } from './machine.ts';
import { waitForApi } from './messages.ts';
import { usageOf, type Usage } from './process-usage.ts';
import { type Interactive, type Measured, startInteractive, startRole } from './programs.ts';
import { untilCount } from './runs.ts';
import { openStage, type Stage } from './stage.ts';
import { senderSettings } from './webhooks.ts';

export interface CostBenchOptions {
  rounds: number;
  /** Duration of each load in seconds. */
  seconds: number;
  /** Requests per second of the steady loads; 0: all roles at rest. */
  rates: number[];
  /** Connections of the loads that post as fast as the API responds. */
  connections: number[];
  /** A checkout to measure in turn with this one, on the same database. */
  beside?: string;
  /** Whether a webhook is subscribed to `email.sent`. */
  webhook: boolean;
  accounts: number;
  /** Whether messages have a limit per minute, which is never reached. */
  limited: boolean;
  /** Whether messages have a price. */
  paid: boolean;
  /** Whether requests have an idempotency key. */
  keys: boolean;
  apis: number;
  senders: number;
  /** Number of days for which the database has partitions of messages. */
  days: number;
  /** Whether to count statements. This makes PostgreSQL slower. */
  statements: boolean;
}

const WARM_UP_SECONDS = 8;
const WARM_UP_CONNECTIONS = 16;
/** How many connections keep up with a rate. */
const RATE_CONNECTIONS = 64;
const REST_SECONDS = 3;
const LIMIT_MS = 120_000;
const MAX_STATEMENTS = 20;
const WEEK_DAYS = 7;
const SUBSCRIBER = 'test/bench/https-subscriber.ts';

/** Makes the partitions that a database has after so many days, without messages. */
async function fillDays({ database: { pool } }: Stage, days: number): Promise<void> {
  const weeks = Math.floor(days / WEEK_DAYS);
  for (let week = 1; week <= weeks; week += 1) {
    await pool.query(`select setval('messages_id_seq', $1, false)`, [week * RANGE_IDS + 1]);
    await keepPartitionsOf(pool, upkeep.partitions);
    await pool.query(
      `insert into message_ranges (n, opened_at, closed_at)
       values ($1, now() - $2 * interval '7 days', now() - ($2 - 1) * interval '7 days') on conflict do nothing`,
      [week - 1, weeks - week + 1],
    );
  }
  if (weeks > 0)
    await pool.query('insert into message_ranges (n) values ($1) on conflict do nothing', [weeks]);
}

/** @returns API keys: that of the stage, and those of further accounts */
async function openAccounts(stage: Stage, { accounts, paid }: CostBenchOptions): Promise<string[]> {
  const { pool } = stage.database;
  const keys = [stage.apiKey];
  for (let n = 1; n < accounts; n += 1) {
    const owner = { email: `owner${n}@bench.test`, password: 'correct horse battery staple' };
    const { account } = await inTransaction(pool, (trx) =>
      createAccount(trx, { name: `Bench ${n}`, tier: 'trusted', sandboxMonthlyCap: 100_000_000, owner }),
    );
    keys.push((await createApiKey(pool, { accountId: account.id, rateLimitPerSecond: 0 })).key);
  }
  await pool.query('update accounts set allowance_per_day = 100000000');
  if (paid) await makePay(stage);
  return keys;
}

interface Bench {
  stage: Stage;
  keys: string[];
  ports: number[];
  settings: Record<string, string>;
  arrivals: Map<string, number>;
  options: CostBenchOptions;
}

type Processes = Record<string, () => Usage>;

/** The roles of one checkout. */
async function startRoles(
  { stage, settings, ports, options }: Bench,
  roles: readonly string[],
  folder: string | undefined,
) {
  const copies: Record<string, number> = { api: options.apis, sender: options.senders };
  const started = roles.flatMap((role) =>
    Array.from({ length: copies[role] ?? 1 }, (_, n): [string, Measured] => [
      role,
      startRole(role, { ...settings, PORT: String(ports[n]) }, undefined, folder),
    ]),
  );
  const stop = () => Promise.all(started.map(([, each]) => each.stop()));
  await Promise.all(ports.map((port) => waitForApi(port))).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  const sumOf = (role: string) => (): Usage => {
    const all = started.filter(([name]) => name === role).map(([, each]) => each.usage());
    const add = (field: keyof Usage) => all.reduce((sum, usage) => sum + usage[field], 0);
    return {
      cpuSeconds: add('cpuSeconds'),
      memoryMb: add('memoryMb'),
      peakMemoryMb: add('peakMemoryMb'),
    };
  };
  const processes: Processes = {
    ...Object.fromEntries(roles.map((role) => [role, sumOf(role)])),
    postgres: () => stage.postgresUsage(),
  };
  return { processes, stop };
}

/** Processor seconds that all processes of the machine have used (Linux only). */
function machineSeconds(): number {
  const [, user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = readFileSync('/proc/stat', 'utf8')
    .split('\n', 1)[0]
    ?.split(/\s+/)
    .map(Number) ?? [0];
  return (user + nice + system + irq + softirq) / 100;
}

const cpuOf = (processes: Processes) => ({
  ...Object.fromEntries(Object.entries(processes).map(([name, usage]) => [name, usage().cpuSeconds])),
  machine: machineSeconds(),
});

type Cpu = Record<string, number>;

const peaksOf = (processes: Processes) =>
  Object.fromEntries(Object.entries(processes).map(([name, usage]) => [name, usage().peakMemoryMb]));

const usedBy = (before: Cpu, after: Cpu, map: (seconds: number) => number) =>
  Object.fromEntries(
    Object.entries(after).map(([name, seconds]) => [name, map(seconds - (before[name] ?? 0))]),
  );

/** What the three processes of a message have used together. */
const together = (used: Cpu) => rounded((used.api ?? 0) + (used.sender ?? 0) + (used.postgres ?? 0), 3);

/** The statements that ran most often since the last reset, with the calls for a message. */
async function commonStatements({ database: { pool } }: Stage, messages: number) {
  const { rows } = await pool.query<object>(
    `select round(calls / $1::numeric, 2)::float8 as calls_per_message,
       round((total_exec_time * 1000 / calls)::numeric)::float8 as us_per_call,
       left(regexp_replace(query, '\\s+', ' ', 'g'), 120) as statement
     from pg_stat_statements where query not like '%pg_stat_statements%'
     order by total_exec_time desc limit ${MAX_STATEMENTS}`,
    [messages],
  );
  return rows;
}

async function statementsOf({ stage, options }: Bench): Promise<number> {
  if (!options.statements) return 0;
  const { rows } = await stage.database.pool.query<{ calls: number }>(
    `select sum(calls)::int as calls from pg_stat_statements where query not like '%pg_stat_statements%'`,
  );
  return rows[0]?.calls ?? 0;
}

/** All roles, with nothing to do. */
async function atRest(bench: Bench, processes: Processes) {
  const { seconds } = bench.options;
  await sleep(REST_SECONDS * 1_000);
  const before = cpuOf(processes);
  const statements = await statementsOf(bench);
  await sleep(seconds * 1_000);
  const after = cpuOf(processes);
  const used = usedBy(before, after, (cpu) => rounded((cpu / seconds) * 100, 2));
  const { machine: _, engine: __, ...own } = used;
  return {
    percent_of_a_core: used,
    together_percent: rounded(
      Object.values(own).reduce((sum, each) => sum + each, 0),
      2,
    ),
    ...(bench.options.statements
      ? { statements_per_second: rounded(((await statementsOf(bench)) - statements) / seconds, 1) }
      : {}),
  };
}

interface LoadShape {
  name: string;
  rate?: number;
  connections: number;
  seconds: number;
}

/** Posts, and waits until everything has arrived. The processor time includes what is left to do after the load. */
async function loaded(bench: Bench, processes: Processes, { name: _, ...shape }: LoadShape) {
  const { arrivals, keys, ports } = bench;
  const starts = new Map<string, number>();
  const startedAt = performance.now();
  const prefix = `m${Math.round(startedAt)}`;
  const before = cpuOf(processes);
  if (bench.options.statements) await bench.stage.database.pool.query('select pg_stat_statements_reset()');
  const statements = await statementsOf(bench);
  const arrivedBefore = arrivals.size;
  const loads = ports.map((port, index) => {
    const number = (n: number) => n * ports.length + index;
    const body = bodyOf(prefix);
    return loadHttp({
      ...shape,
      ...(shape.rate === undefined ? {} : { rate: shape.rate / ports.length }),
      connections: Math.ceil(shape.connections / ports.length),
      port,
      path: '/v1/my/messages',
      headers: (n) => ({ Authorization: `Bearer ${keys[number(n) % keys.length]}` }),
      body: (n) => body(number(n)),
      ...(bench.options.keys ? { key: (n: number) => `${prefix}-${number(n)}` } : {}),
      onStart: (n, at) => void starts.set(`${prefix}-${number(n)}@example.com`, at),
    });
  });
  const results = await Promise.all(loads);
  const seconds = (performance.now() - startedAt) / 1_000;
  const sentInTime = arrivals.size - arrivedBefore;
  await untilCount(() => Promise.resolve(arrivals.size - arrivedBefore), starts.size, LIMIT_MS);
  const used = usedBy(before, cpuOf(processes), (cpu) => rounded((cpu / starts.size) * 1e6));
  const times = [...starts].map(([to, at]) => (arrivals.get(to) ?? Infinity) - at);
  for (const to of starts.keys()) arrivals.delete(to);
  return {
    sent_per_second: rounded(sentInTime / seconds),
    errors: results.reduce((sum, { errors }) => sum + errors, 0),
    cpu_us_per_message: used,
    together_us: together(used),
    p50_ms: rounded(percentile(times, 0.5), 2),
    p99_ms: rounded(percentile(times, 0.99), 2),
    post_p50_ms: rounded(median(results.map(({ p50_ms }) => p50_ms)), 2),
    post_p99_ms: rounded(Math.max(...results.map(({ p99_ms }) => p99_ms)), 2),
    ...(bench.options.statements
      ? {
          statements_per_message: rounded(((await statementsOf(bench)) - statements) / starts.size, 2),
          statements: await commonStatements(bench.stage, starts.size),
        }
      : {}),
  };
}

const shapesOf = ({ rates, connections, seconds }: CostBenchOptions): LoadShape[] => [
  ...rates
    .filter((rate) => rate > 0)
    .map((rate) => ({ name: `${rate}/s`, rate, connections: RATE_CONNECTIONS, seconds })),
  ...connections.map((count) => ({ name: `full, ${count} connections`, connections: count, seconds })),
];

async function empty({ database }: Stage): Promise<void> {
  await database.pool.query(
    `truncate message_contents, message_events, messages, send_queue, handovers, idempotency_keys, allowance_buckets,
       webhook_queue, webhook_deliveries, webhook_attempts, events cascade`,
  );
}

/** Installs the functions of another checkout beside those of this one. */
async function migrateAt(folder: string, url: string): Promise<void> {
  const other = (await import(join(folder, 'src/platform/db/migrate.ts'))) as { migrate: typeof migrate };
  await other.migrate(url, upkeep.partitions);
}

/** One round of one checkout: all loads, with processes that are warm. */
async function measureLoads(bench: Bench, folder: string | undefined) {
  await empty(bench.stage);
  const roles = await startRoles(bench, ['api', 'sender'], folder);
  try {
    await loaded(bench, roles.processes, {
      name: 'warm',
      connections: WARM_UP_CONNECTIONS,
      seconds: WARM_UP_SECONDS,
    });
    const measured: Record<string, Awaited<ReturnType<typeof loaded>>> = {};
    for (const shape of shapesOf(bench.options)) {
      await sleep(REST_SECONDS * 1_000);
      measured[shape.name] = await loaded(bench, roles.processes, shape);
      process.stderr.write(
        `${folder ?? 'this commit'}: ${shape.name}: ${JSON.stringify(measured[shape.name])}\n`,
      );
    }
    return { loads: measured, peak_memory_mb: peaksOf(roles.processes) };
  } finally {
    await roles.stop();
  }
}

/** One round of one checkout at rest, with all roles and an engine. */
function measureRest(bench: Bench, folder: string | undefined) {
  return withEngine(bench.stage, async (engine) => {
    const settings = {
      ...bench.settings,
      TEMPORAL_ADDRESS: engine.address,
      MAIL_PORT: String(await claimPort(0, 'MAIL_PORT')),
    };
    const roles = await startRoles({ ...bench, settings }, ['api', 'worker', 'sender', 'mail'], folder);
    try {
      await sleep(WARM_UP_SECONDS * 1_000);
      const rest = await atRest(bench, { ...roles.processes, engine: () => usageOf(engine.pid) });
      process.stderr.write(`${folder ?? 'this commit'}: at rest: ${JSON.stringify(rest)}\n`);
      return rest;
    } finally {
      await roles.stop();
    }
  });
}

/** One round of one checkout. */
async function oneRound(bench: Bench, folder: string | undefined) {
  const hasLoads = shapesOf(bench.options).length > 0;
  return {
    ...(bench.options.rates.includes(0) ? { at_rest: await measureRest(bench, folder) } : {}),
    ...(hasLoads ? await measureLoads(bench, folder) : { loads: {}, peak_memory_mb: {} }),
  };
}

type Round = Awaited<ReturnType<typeof oneRound>>;

const LOAD_FIGURES = ['together_us', 'sent_per_second', 'p50_ms', 'p99_ms', 'post_p99_ms'] as const;

function mediansOf(rounds: readonly Round[]): Record<string, Record<string, number>> {
  const names = Object.keys(rounds[0]?.loads ?? {});
  const byLoad = names.map((name): [string, Record<string, number>] => {
    const loads = rounds.flatMap((round) => round.loads[name] ?? []);
    const cpu = Object.keys(loads[0]?.cpu_us_per_message ?? {}).map((each): [string, number] => [
      `${each}_us`,
      median(loads.map((load) => load.cpu_us_per_message[each] ?? 0)),
    ]);
    const figures = LOAD_FIGURES.map((each): [string, number] => [
      each,
      median(loads.map((load) => load[each])),
    ]);
    return [name, Object.fromEntries([...cpu, ...figures])];
  });
  const rest = rounds.flatMap(({ at_rest: each }) => each?.together_percent ?? []);
  const peaks = Object.keys(rounds[0]?.peak_memory_mb ?? {}).map((name): [string, number] => [
    `${name}_mb`,
    median(rounds.map(({ peak_memory_mb: each }) => each[name] ?? 0)),
  ]);
  return {
    ...Object.fromEntries(byLoad),
    ...(peaks.length > 0 ? { 'peak memory': Object.fromEntries(peaks) } : {}),
    ...(rest.length > 0 ? { 'at rest': { together_percent: median(rest) } } : {}),
  };
}

/** @returns each median of this commit as a share of that of the other checkout */
const sharesOf = (
  now: Record<string, Record<string, number>>,
  before: Record<string, Record<string, number>>,
) =>
  Object.fromEntries(
    Object.entries(now).map(([load, figures]) => [
      load,
      Object.fromEntries(
        Object.entries(figures).map(([name, value]) => [
          name,
          rounded(value / (before[load]?.[name] ?? NaN), 3),
        ]),
      ),
    ]),
  );

async function measureAll(bench: Bench) {
  const { rounds, beside } = bench.options;
  const now: Round[] = [];
  const before: Round[] = [];
  for (let n = 0; n < rounds; n += 1) {
    if (beside !== undefined) before.push(await oneRound(bench, beside));
    now.push(await oneRound(bench, undefined));
  }
  const medians = mediansOf(now);
  if (beside === undefined) return { medians, rounds: now };
  const mediansBeside = mediansOf(before);
  return {
    medians,
    medians_beside: mediansBeside,
    shares: sharesOf(medians, mediansBeside),
    rounds: now,
    rounds_beside: before,
  };
}

/** `npm run bench -- cost`: processor time of a message by process, and the time from the request to the SMTP server. */
export async function benchCost(options: CostBenchOptions) {
  const stage = await openStage({ statements: options.statements });
  const arrivals = new Map<string, number>();
  const smtp = await startCountingServer({
    port: 0,
    keep: true,
    onMessage: ({ to }) => void arrivals.set(to, performance.now()),
  });
  const subscriber: Interactive = await startInteractive(SUBSCRIBER);
  try {
    if (options.beside !== undefined) await migrateAt(options.beside, stage.settings.DATABASE_URL ?? '');
    await fillDays(stage, options.days);
    const keys = await openAccounts(stage, options);
    const ports = [stage.apiPort];
    while (ports.length < options.apis) ports.push(await claimPort(0, 'PORT'));
    const settings = {
      ...senderSettings(stage),
      EMAIL_PROVIDER_URL: `smtp://127.0.0.1:${smtp.port}?tls=off&dkim=off`,
      ...(options.limited ? { PACING_PER_MINUTE: '10000000' } : {}),
    };
    const bench = { stage, keys, ports, settings, arrivals, options };
    if (options.webhook) {
      const roles = await startRoles(bench, ['api'], undefined);
      await subscribeTo(stage, subscriber.first.port ?? 0);
      await roles.stop();
    }
    return await measureAll(bench);
  } finally {
    await Promise.all([smtp.close(), subscriber.stop()]);
    await stage.close();
  }
}
