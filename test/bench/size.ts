import { setTimeout as sleep } from 'node:timers/promises';
import { loadHttp } from './http-load.ts';
import { percentile, rounded } from './machine.ts';
import { waitForApi } from './messages.ts';
import { type Measured, startInteractive, startRole } from './programs.ts';
import { untilCount } from './runs.ts';
import { fillAccounts, fillMessages, type Filling, queueMessages } from './size-fill.ts';
import { openStage, type Stage } from './stage.ts';
import { senderSettings } from './webhooks.ts';

export interface SizeBenchOptions extends Filling {
  seconds: number;
}

const CONNECTIONS = 32;
const WARM_UP_SECONDS = 5;
const REQUESTS_PER_PATH = 60;
/** More messages per second than four senders hand over. */
const DRAINED_PER_SECOND = 15_000;
const COUNTING_SERVER = 'test/support/smtp/counting-server.ts';

const body = (n: number) =>
  JSON.stringify({
    channel: 'email',
    to: `accepted${n}@example.com`,
    subject: `Your receipt ${n}`,
    html: '<p>Thank you for your order.</p>',
    body: 'Thank you for your order.',
  });

async function accepted(stage: Stage, seconds: number): Promise<number> {
  const load = {
    port: stage.apiPort,
    path: '/v1/my/messages',
    headers: { Authorization: `Bearer ${stage.apiKey}` },
    body,
    connections: CONNECTIONS,
  };
  await loadHttp({ ...load, seconds: WARM_UP_SECONDS });
  const result = await loadHttp({ ...load, seconds });
  if (result.errors > 0) throw new Error(`${result.errors} requests failed`);
  return result.requests_per_second;
}

/**
 * Times a request for a list, a filter or a resource.
 * @returns p95 in ms
 */
async function timed(stage: Stage, path: string): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < REQUESTS_PER_PATH; n++) {
    const startedAt = performance.now();
    const answer = await fetch(`http://127.0.0.1:${stage.apiPort}/v1/my${path}`, {
      headers: { Authorization: `Bearer ${stage.apiKey}` },
    });
    await answer.arrayBuffer();
    if (!answer.ok) throw new Error(`${path} returned ${answer.status}`);
    times.push(performance.now() - startedAt);
  }
  return rounded(percentile(times, 0.95));
}

const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();

/** @returns p95 of each path in ms */
async function lists(stage: Stage): Promise<Record<string, number>> {
  const { rows } = await stage.database.pool.query<{ id: number; idempotency_key: string; to_key: string }>(
    `select id, idempotency_key, to_key from messages where brand_id = $1 and idempotency_key is not null
     order by id desc offset 10 limit 1`,
    [stage.brandId],
  );
  const some = rows[0];
  const paths = [
    '/messages',
    '/messages?page=20',
    '/messages?status=sent',
    '/messages?status=failed',
    '/messages?status=queued',
    '/messages?status=sending',
    '/messages?channel=sms',
    '/messages?to=recipient40%40example.com',
    '/messages?idempotency_key=unknown',
    `/messages?created_after=${daysAgo(200)}&created_before=${daysAgo(199)}`,
    `/messages?status=failed&created_before=${daysAgo(300)}`,
    '/account',
    '/delivery/status',
    ...(some ? [`/messages?idempotency_key=${some.idempotency_key}`, `/messages/${some.id}`] : []),
  ];
  const found: Record<string, number> = {};
  for (const path of paths) found[path] = await timed(stage, path);
  return found;
}

/** The cost of claims since the last reset: microseconds of the statement per message returned. */
async function claimCost(stage: Stage): Promise<number> {
  const { rows } = await stage.database.pool.query<{ cost: number | null }>(
    `select sum(total_exec_time) * 1000 / nullif(sum(rows), 0) as cost from pg_stat_statements
     where query ilike '%claim_backlog%' and rows > 0`,
  );
  return rounded(rows[0]?.cost ?? 0);
}

/** Counts what reaches the SMTP server in a period while this many senders drain a backlog that never ends. */
async function drained(stage: Stage, senders: number, seconds: number) {
  const server = await startInteractive(COUNTING_SERVER, ['0']);
  const count = async () => (await server.ask('count')).count ?? 0;
  const roles: Measured[] = [];
  try {
    await stage.database.pool.query('select pg_stat_statements_reset()');
    for (let n = 0; n < senders; n++) {
      roles.push(
        startRole('sender', {
          ...senderSettings(stage),
          OPS_PORT: '0',
          EMAIL_PROVIDER_URL: `smtp://127.0.0.1:${server.first.port}?tls=off&dkim=off`,
        }),
      );
    }
    await untilCount(count, 1, 60_000);
    await sleep(WARM_UP_SECONDS * 1_000);
    const before = await count();
    const startedAt = performance.now();
    await sleep(seconds * 1_000);
    const sent = (await count()) - before;
    const perSecond = rounded((sent / (performance.now() - startedAt)) * 1_000);
    return { per_second: perSecond, claim_us_per_message: await claimCost(stage) };
  } finally {
    await Promise.all(roles.map((role) => role.stop()));
    await server.stop();
  }
}

async function measure(stage: Stage, options: SizeBenchOptions, queued: number) {
  const { seconds, queuedAccounts } = options;
  const api = startRole('api', { ...stage.settings, EMAIL_PROVIDER_URL: 'capture:' });
  let served;
  try {
    await waitForApi(stage.apiPort);
    const perSecond = await accepted(stage, seconds);
    process.stderr.write(`accepted ${perSecond}/s\n`);
    served = { accepted_per_second: perSecond, p95_ms: await lists(stage) };
  } finally {
    await api.stop();
  }
  process.stderr.write(`lists ${JSON.stringify(served.p95_ms)}\n`);
  const oneSender = await drained(stage, 1, seconds);
  const { rows } = await stage.database.pool.query<{ left: number }>(
    'select count(*) as left from send_queue',
  );
  await queueMessages(stage, Math.max(0, queued - (rows[0]?.left ?? 0)), queuedAccounts);
  const fourSenders = await drained(stage, 4, seconds);
  process.stderr.write(`drained ${JSON.stringify({ oneSender, fourSenders })}\n`);
  return { ...served, drained_by_one: oneSender, drained_by_four: fourSenders };
}

/** Enough for a measurement with four senders. */
function backlogOf({ seconds }: SizeBenchOptions): number {
  return DRAINED_PER_SECOND * (seconds + 2 * WARM_UP_SECONDS);
}

/** `npm run bench -- size`: the same measurements on an empty and on a large database, in one run. */
export async function benchSize(options: SizeBenchOptions) {
  const stage = await openStage({ statements: true });
  try {
    await fillAccounts(stage, options.accounts);
    const few = backlogOf(options);
    await queueMessages(stage, few, options.queuedAccounts);
    const empty = await measure(stage, options, few);
    await stage.database.pool.query(
      'truncate messages, message_contents, message_events, send_queue, handovers, idempotency_keys, allowance_buckets',
    );
    await fillMessages(stage, options);
    const queued = Math.max(few, options.queued);
    await queueMessages(stage, queued, options.queuedAccounts);
    const large = await measure(stage, options, queued);
    const share = (pick: (run: typeof large) => number) => rounded(pick(large) / pick(empty), 2);
    return {
      share_of_empty: {
        accepted: share((run) => run.accepted_per_second),
        drained_by_one: share((run) => run.drained_by_one.per_second),
        drained_by_four: share((run) => run.drained_by_four.per_second),
      },
      worst_p95_ms: Math.max(...Object.values(large.p95_ms)),
      empty,
      large,
    };
  } finally {
    await stage.close();
  }
}
