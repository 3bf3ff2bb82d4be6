/** Many entries into a flow at once, and what others wait meanwhile. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ask } from './ask.ts';
import { engineCost } from './flow-engine.ts';
import {
  activate,
  cpuPerStep,
  doneIn,
  insertContacts,
  LIMIT_MS,
  peakMemoryMb,
  type Running,
  trackAll,
  untilRuns,
  usagesOf,
  WAIT_SECONDS,
} from './flow-stage.ts';
import { loadHttp } from './http-load.ts';
import { percentile, rounded } from './machine.ts';
import { untilCount } from './runs.ts';
import type { Stage } from './stage.ts';
import { resetStatementCosts, type StatementCost, statementCosts } from './statement-costs.ts';

export interface BurstOptions {
  /** Number of entries; 0: no burst. */
  burst: number;
  /** How long others use the service beside it, in seconds. */
  besideSeconds: number;
  /** Whether to measure the statements that PostgreSQL runs. */
  statements: boolean;
}

const CAMPAIGN_RECIPIENTS = 10;
const CAMPAIGN_PAUSE_MS = 5_000;
const MESSAGES_PER_SECOND = 20;
const MESSAGE_CONNECTIONS = 8;
/** In the first seconds, V8 has not compiled the hot code yet. */
const WARM_UP_SECONDS = 5;

const summaryOf = (times: number[]) => ({
  count: times.length,
  p50_ms: rounded(percentile(times, 0.5)),
  p95_ms: rounded(percentile(times, 0.95)),
  max_ms: rounded(Math.max(...times)),
});

/** @returns how long each of the pieces of work took that were done one after another in `seconds` */
async function repeatFor(
  seconds: number,
  pauseMs: number,
  work: (n: number) => Promise<number>,
): Promise<number[]> {
  const end = performance.now() + seconds * 1_000;
  const times: number[] = [];
  while (times.length === 0 || performance.now() < end) {
    times.push(await work(times.length));
    await sleep(pauseMs);
  }
  return times;
}

/** How long a campaign takes to send its first mail. */
async function firstMailOfCampaign(stage: Stage, { arrivals }: Running, n: number): Promise<number> {
  const prefix = `campaign${n}-`;
  const contacts = await insertContacts(stage, prefix, CAMPAIGN_RECIPIENTS);
  const { id: listId } = await ask<{ id: number }>(stage, 'POST', '/lists', { name: prefix });
  await stage.database.pool.query(
    'insert into list_members (list_id, contact_id) select $1, unnest($2::bigint[])',
    [listId, contacts],
  );
  const { id } = await ask<{ id: number }>(stage, 'POST', '/campaigns', {
    name: prefix,
    trigger_attributes: { contact_list_id: listId },
    template_attributes: { subject: 'News', body: '<p>News</p>' },
  });
  const sentAt = performance.now();
  await ask(stage, 'POST', `/campaigns/${id}/send`, {});
  const addresses = contacts.map((_, index) => `${prefix}${index}@example.com`);
  const arrived = () => addresses.flatMap((to) => arrivals.get(to) ?? []);
  await untilCount(() => Promise.resolve(arrived().length), 1, LIMIT_MS);
  return rounded(Math.min(...arrived()) - sentAt);
}

/** Measures from POST /events to the first mail of another account's runs, one run after another. */
async function runsOfOther(other: Stage, { arrivals }: Running, seconds: number) {
  await activate(other, 'bench_neighbour');
  const times = await repeatFor(seconds, 500, async (n) => {
    const to = `neighbour${n}-0@example.com`;
    await insertContacts(other, `neighbour${n}-`, 1);
    const postedAt = performance.now();
    await ask(other, 'POST', '/events', { event: 'bench_neighbour', contact_email: to });
    await untilCount(() => Promise.resolve(arrivals.has(to) ? 1 : 0), 1, LIMIT_MS);
    return (arrivals.get(to) ?? Infinity) - postedAt;
  });
  return summaryOf(times);
}

/** Posts messages of the account itself at a steady rate. */
function postMessages(stage: Stage, seconds: number) {
  return loadHttp({
    port: stage.apiPort,
    path: '/v1/my/messages',
    headers: { Authorization: `Bearer ${stage.apiKey}` },
    body: (n) =>
      JSON.stringify({
        channel: 'email',
        to: `message${n}@example.com`,
        subject: 'Code',
        body: 'Your code is 123456.',
      }),
    connections: MESSAGE_CONNECTIONS,
    rate: MESSAGES_PER_SECOND,
    seconds,
  });
}

/** What others wait while the burst is worked off. */
async function measureOthers(stage: Stage, other: Stage, running: Running, seconds: number) {
  const [campaigns, neighbour, messages] = await Promise.all([
    repeatFor(seconds, CAMPAIGN_PAUSE_MS, (n) => firstMailOfCampaign(stage, running, n)),
    runsOfOther(other, running, seconds),
    postMessages(stage, seconds),
  ]);
  return { campaign_to_first_mail: summaryOf(campaigns), neighbour_to_first_mail: neighbour, messages };
}

/**
 * Whether the waits of all runs ended in the order in which they were due: how late each ended, and by how many seconds
 * runs that were due later overtook it.
 */
async function orderOf({ database: { pool } }: Stage, flowId: number) {
  const { rows } = await pool.query<Record<string, number>>(
    `with waits as (
       select extract(epoch from left_at) as ended, extract(epoch from entered_at) + $2 as due
       from flow_run_steps where flow_id = $1 and n = 1
     ), compared as (
       select ended - due as late,
         greatest(0, ended - min(ended) over (order by due desc, ended desc rows unbounded preceding)) as overtaken
       from waits
     )
     select percentile_cont(0.5) within group (order by late)::float8 as late_seconds_p50,
       percentile_cont(0.99) within group (order by late)::float8 as late_seconds_p99,
       max(late)::float8 as late_seconds_max,
       percentile_cont(0.5) within group (order by overtaken)::float8 as overtaken_seconds_p50,
       percentile_cont(0.99) within group (order by overtaken)::float8 as overtaken_seconds_p99,
       max(overtaken)::float8 as overtaken_seconds_max
     from compared`,
    [flowId, WAIT_SECONDS],
  );
  return Object.fromEntries(Object.entries(rows[0] ?? {}).map(([name, value]) => [name, rounded(value, 2)]));
}

async function untilMailIsSent({ database: { pool } }: Stage): Promise<void> {
  const end = performance.now() + LIMIT_MS;
  for (;;) {
    const { rows } = await pool.query<{ waiting: boolean }>(
      'select exists (select from send_queue) as waiting',
    );
    if (!rows[0]?.waiting) return;
    if (performance.now() > end) throw new Error('not all mail was sent');
    await sleep(250);
  }
}

/**
 * Lets many contacts enter a flow at once, and waits until all runs have ended and all mail is sent. Meanwhile the
 * account sends campaigns and messages, and another account's contacts enter a flow one by one.
 */
export async function measureBurst(stage: Stage, other: Stage, running: Running, options: BurstOptions) {
  const { burst: count, besideSeconds, statements } = options;
  await postMessages(stage, WARM_UP_SECONDS);
  const alone = await postMessages(stage, besideSeconds);
  await insertContacts(stage, 'burst', count);
  const flowId = await activate(stage, 'bench_burst');
  if (statements) await resetStatementCosts(stage);

  const before = usagesOf(stage, running);
  const startedAt = Date.now();
  const since = (at: number) => rounded((at - startedAt) / 1_000);
  const others = measureOthers(stage, other, running, besideSeconds);
  await trackAll(stage, { event: 'bench_burst', prefix: 'burst', count });
  const acceptedAt = Date.now();
  const { messages, ...waits } = await others;
  await untilRuns(stage, flowId, 'ended', count);
  await untilMailIsSent(stage);
  const sentAt = Date.now();
  const after = usagesOf(stage, running);
  const done = await doneIn(stage, flowId);
  const costs: StatementCost[] = statements ? await statementCosts(stage, done.steps) : [];
  return {
    events: count,
    accepted_after_seconds: since(acceptedAt),
    last_run_started_after_seconds: since(done.lastStartAt),
    last_run_ended_after_seconds: since(done.lastEndAt),
    last_mail_sent_after_seconds: since(sentAt),
    steps_per_second: rounded((done.steps * 1_000) / (done.lastEndAt - startedAt)),
    engine: await engineCost(stage, running.engine.address, flowId),
    ...cpuPerStep(before, after, done.steps),
    peak_memory_mb: peakMemoryMb(after),
    order: await orderOf(stage, flowId),
    ...waits,
    messages: { alone, beside: messages, p99_share: rounded(messages.p99_ms / alone.p99_ms, 2) },
    ...(statements ? { statements: costs } : {}),
  };
}
