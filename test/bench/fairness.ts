import { setTimeout as sleep } from 'node:timers/promises';
import { createAccount } from '../../src/features/accounts/service.ts';
import { createApiKey } from '../../src/features/api-keys/service.ts';
import { inTransaction } from '../../src/platform/db/queryable.ts';
import { queueEmails } from '../support/queued.ts';
import { type Arrival, startSlowRelay } from './slow-relay.ts';
import { percentile, rounded } from './machine.ts';
import { waitForApi } from './messages.ts';
import { startRole } from './programs.ts';
import { repeatRuns, untilCount } from './runs.ts';
import { openStage, type Stage } from './stage.ts';

export interface FairnessBenchOptions {
  runs: number;
  /** How long the small account posts, in seconds. */
  seconds: number;
  /** Number of queued messages of the large account. */
  backlog: number;
  /** Number of messages that the small account posts per second. */
  rate: number;
  /** How long the relay takes for each message, in ms. */
  messageMs: number;
  /** Number of the sender's connections. */
  connections: number;
}

/** How long the large account sends alone before the small one posts. This also warms up the sender. */
const ALONE_SECONDS = 5;
const WARM_UP_MESSAGES = 200;
const LARGE = 'large';
const SMALL = 'small';

/** A second account with a key. */
export async function smallAccount({ database }: Stage): Promise<{ accountId: number; key: string }> {
  const owner = { email: 'small@bench.test', password: 'correct horse battery staple' };
  const { account } = await inTransaction(database.pool, (trx) =>
    createAccount(trx, {
      name: 'Small',
      tier: 'trusted',
      sandboxMonthlyCap: 1_000_000,
      allowancePerDay: 1_000_000,
      owner,
    }),
  );
  const { key } = await createApiKey(database.pool, { accountId: account.id, rateLimitPerSecond: 0 });
  return { accountId: account.id, key };
}

/**
 * Posts at a steady rate.
 * @returns when each request was sent, by recipient
 */
async function post(stage: Stage, key: string, count: number, rate: number): Promise<Map<string, number>> {
  const starts = new Map<string, number>();
  const startedAt = performance.now();
  const requests: Promise<void>[] = [];
  for (let n = 0; n < count; n += 1) {
    await sleep(Math.max(0, startedAt + (n * 1_000) / rate - performance.now()));
    const to = `${SMALL}${starts.size}-${startedAt}@example.com`;
    starts.set(to, performance.now());
    requests.push(
      fetch(`http://127.0.0.1:${stage.apiPort}/v1/my/messages`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({ channel: 'email', to, subject: 'Your code', body: 'Your code is 123456.' }),
      }).then(async (answer) => {
        if (!answer.ok) throw new Error(`not accepted: ${await answer.text()}`);
      }),
    );
  }
  await Promise.all(requests);
  return starts;
}

function arrivalsOf(arrivals: readonly Arrival[], starts: ReadonlyMap<string, number>): Map<string, number> {
  return new Map(arrivals.filter(({ to }) => starts.has(to)).map(({ to, at }) => [to, at]));
}

/** How many of the large account's messages arrived per second, in the last `seconds`. */
function largePerSecond(arrivals: readonly Arrival[], seconds: number): number {
  const from = performance.now() - seconds * 1_000;
  return arrivals.filter(({ to, at }) => to.startsWith(LARGE) && at >= from).length / seconds;
}

/** Posts for the small account, and times each message from its request to the relay. */
async function latencyOfSmall(
  stage: Stage,
  arrivals: readonly Arrival[],
  load: { key: string; count: number; rate: number },
) {
  const starts = await post(stage, load.key, load.count, load.rate);
  await untilCount(() => Promise.resolve(arrivalsOf(arrivals, starts).size), load.count, 120_000);
  const arrived = arrivalsOf(arrivals, starts);
  const times = [...starts].map(([to, at]) => (arrived.get(to) ?? Infinity) - at);
  return {
    p50_ms: rounded(percentile(times, 0.5)),
    p99_ms: rounded(percentile(times, 0.99)),
    max_ms: rounded(Math.max(...times)),
  };
}

async function oneRun(stage: Stage, key: string, options: FairnessBenchOptions) {
  const { seconds, backlog, rate, messageMs, connections } = options;
  await stage.database.pool.query(
    'truncate messages, message_contents, message_events, send_queue, handovers',
  );
  const arrivals: Arrival[] = [];
  const relay = await startSlowRelay({ messageMs, onMessage: (arrival) => void arrivals.push(arrival) });
  const settings = {
    ...stage.settings,
    SENDER_CONNECTIONS: String(connections),
    EMAIL_PROVIDER_URL: `smtp://127.0.0.1:${relay.port}?tls=off&dkim=off`,
  };
  const api = startRole('api', settings);
  const sender = startRole('sender', settings);
  try {
    await waitForApi(stage.apiPort);
    await latencyOfSmall(stage, arrivals, { key, count: WARM_UP_MESSAGES, rate: WARM_UP_MESSAGES / 10 });
    const alone = await latencyOfSmall(stage, arrivals, { key, count: rate * ALONE_SECONDS, rate });
    await queueEmails(stage.database, stage, backlog, { prefix: LARGE });
    await untilCount(
      () => Promise.resolve(arrivals.filter(({ to }) => to.startsWith(LARGE)).length),
      100,
      60_000,
    );
    await sleep(ALONE_SECONDS * 1_000);
    const largeAlone = largePerSecond(arrivals, ALONE_SECONDS - 1);
    const beside = await latencyOfSmall(stage, arrivals, { key, count: rate * seconds, rate });
    const largeBeside = largePerSecond(arrivals, seconds);
    const possible = (connections * 1_000) / messageMs;
    return {
      small_alone: alone,
      small_beside_large: beside,
      large_per_second_alone: rounded(largeAlone),
      large_per_second_beside_small: rounded(largeBeside),
      large_share_of_possible: rounded(largeAlone / possible, 3),
      all_share_of_possible: rounded((largeBeside + rate) / possible, 3),
    };
  } finally {
    await Promise.all([api.stop(), sender.stop()]);
    await relay.close();
  }
}

/**
 * `npm run bench -- fairness`: how long the messages of a small account take next to the backlog of a large one if the
 * relay is slow, and what that costs the large one.
 */
export async function benchFairness(options: FairnessBenchOptions) {
  const stage = await openStage();
  try {
    const { key } = await smallAccount(stage);
    const { runs, of } = await repeatRuns(options.runs, () => oneRun(stage, key, options));
    return {
      medians: {
        small_alone_p50_ms: of((run) => run.small_alone.p50_ms),
        small_beside_large_p50_ms: of((run) => run.small_beside_large.p50_ms),
        small_beside_large_p99_ms: of((run) => run.small_beside_large.p99_ms),
        large_per_second_beside_small: of((run) => run.large_per_second_beside_small),
        large_share_of_possible: of((run) => run.large_share_of_possible),
        all_share_of_possible: of((run) => run.all_share_of_possible),
      },
      runs,
    };
  } finally {
    await stage.close();
  }
}
