import { setTimeout as sleep } from 'node:timers/promises';
import { pauseAccount } from '../../src/features/brakes/service.ts';
import { resumeSending } from '../../src/features/accounts/service.ts';
import { inTransaction } from '../../src/platform/db/queryable.ts';
import { startCountingServer } from '../support/smtp/counting-server.ts';
import { testEvents } from '../support/events.ts';
import { loadHttp } from './http-load.ts';
import { percentile, rounded } from './machine.ts';
import { waitForApi } from './messages.ts';
import { startRole } from './programs.ts';
import { openStage, type Stage } from './stage.ts';
import { senderSettings } from './webhooks.ts';

export interface PauseBenchOptions {
  pauses: number;
  senders: number;
  connections: number;
}

const WARM_UP_MS = 5_000;
/** How long to send under full load before each pause. */
const SENDING_MS = 3_000;
/** How long before and after a pause its requests count as sent meanwhile. */
const MEANWHILE_MS = 100;
/** How long mail may still arrive after the pause was confirmed. */
const AFTER_MS = 2_000;

interface Responses {
  /** When each request was sent, in milliseconds of `performance.now()`. */
  at: number[];
  ms: number[];
}

/** The 99th percentile of the requests that were sent in a period. */
const p99Between = ({ at, ms }: Responses, from: number, to: number) =>
  percentile(
    ms.filter((_, index) => Number(at[index]) >= from && Number(at[index]) < to),
    0.99,
  );

/** Pauses and resumes the account while everything is sending. */
async function pauseOnce(stage: Stage, arrivals: { count: number; lastAt: number }, responses: Responses) {
  const { pool } = stage.database;
  const before = arrivals.count;
  const startedAt = performance.now();
  await sleep(SENDING_MS);
  const perSecond = ((arrivals.count - before) * 1_000) / SENDING_MS;
  const askedAt = performance.now();
  await inTransaction(pool, (trx) => pauseAccount(trx, testEvents, stage.accountId, 'a benchmark'));
  const confirmedMs = performance.now() - askedAt;
  await sleep(AFTER_MS);
  const lastMs = arrivals.lastAt - askedAt;
  await resumeSending(pool, stage.accountId);
  return {
    sent_per_second: perSecond,
    confirmed_ms: confirmedMs,
    last_mail_ms: Math.max(0, lastMs),
    post_p99_before_ms: p99Between(responses, startedAt, askedAt),
    // From just before the pause: these requests have to wait for its locks, if any do.
    post_p99_meanwhile_ms: p99Between(
      responses,
      askedAt - MEANWHILE_MS,
      askedAt + confirmedMs + MEANWHILE_MS,
    ),
  };
}

/**
 * `npm run bench -- pause`: how long it takes until the pause of an account is confirmed, and until its last mail,
 * and how long its requests take meanwhile, while clients post and senders send as fast as they can.
 */
export async function benchPause({ pauses, senders, connections }: PauseBenchOptions) {
  const stage = await openStage();
  const arrivals = { count: 0, lastAt: 0 };
  const onMessage = () => {
    arrivals.count += 1;
    arrivals.lastAt = performance.now();
  };
  const smtp = await startCountingServer({ port: 0, keep: true, onMessage });
  const settings = {
    ...senderSettings(stage),
    EMAIL_PROVIDER_URL: `smtp://127.0.0.1:${smtp.port}?tls=off&dkim=off`,
  };
  const roles = ['api', ...Array.from({ length: senders }, () => 'sender')].map((role) =>
    startRole(role, settings),
  );
  const seconds = (WARM_UP_MS + pauses * (SENDING_MS + AFTER_MS)) / 1_000;
  try {
    await waitForApi(stage.apiPort);
    const responses: Responses = { at: [], ms: [] };
    const load = loadHttp({
      onResponse: (at, ms) => {
        responses.at.push(at);
        responses.ms.push(ms);
      },
      ...{ port: stage.apiPort, path: '/v1/my/messages', connections, seconds },
      headers: { Authorization: `Bearer ${stage.apiKey}` },
      body: (n) =>
        JSON.stringify({
          channel: 'email',
          to: `r${n}@example.com`,
          subject: `Receipt ${n}`,
          body: 'Thank you.',
        }),
    });
    await sleep(WARM_UP_MS);
    const runs: Awaited<ReturnType<typeof pauseOnce>>[] = [];
    for (let n = 0; n < pauses; n += 1) runs.push(await pauseOnce(stage, arrivals, responses));
    const { requests_per_second: accepted } = await load;
    const of = (name: keyof (typeof runs)[number], share: number) =>
      rounded(
        percentile(
          runs.map((run) => run[name]),
          share,
        ),
        1,
      );
    return {
      accepted_per_second: accepted,
      sent_per_second: of('sent_per_second', 0.5),
      confirmed_ms: { p50: of('confirmed_ms', 0.5), max: of('confirmed_ms', 1) },
      last_mail_ms: { p50: of('last_mail_ms', 0.5), max: of('last_mail_ms', 1) },
      post_p99_before_ms: { p50: of('post_p99_before_ms', 0.5), max: of('post_p99_before_ms', 1) },
      post_p99_meanwhile_ms: { p50: of('post_p99_meanwhile_ms', 0.5), max: of('post_p99_meanwhile_ms', 1) },
      runs,
    };
  } finally {
    await Promise.all(roles.map((role) => role.stop()));
    await smtp.close();
    await stage.close();
  }
}
