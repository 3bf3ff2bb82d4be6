// A webhook endpoint gets one event if a campaign completes, fails or stops, and the end waits for that event.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { readCampaign } from '../../../../src/features/campaigns/run/page.ts';
import { createCampaignRun, type Stay } from '../../../../src/features/campaigns/run/run.ts';
import { cancelCampaign } from '../../../../src/features/campaigns/transitions.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import type { EventPublisher } from '../../../../src/platform/events/publish.ts';
import {
  evaluationsIn,
  insertSentCampaign,
  sendDueBlocks,
  type TestOutcome,
} from '../../../support/campaign-runs.ts';
import { insertContacts } from '../../../support/contacts.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { testEvents } from '../../../support/events.ts';
import { insertAccount, type QueuedAccount } from '../../../support/queued.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';

const thresholds = {
  ...{ bounceRate: 0.05, minBounces: 10, minCounted: 100 },
  ...{ complaintRate: 0.003, minComplaints: 5 },
};
const types = ['campaign.completed', 'campaign.failed', 'campaign.stopped'];

type Run = ReturnType<typeof createCampaignRun>;

let db: TestDatabase;
let account: QueuedAccount;
let webhookId: number;
let woken: string[];
let run: Run;
let asOf: Date;

beforeAll(async () => {
  db = await createTestDatabase({ poolMax: 6 });
}, 60_000);
beforeEach(async () => {
  account = await insertAccount(db.database);
  webhookId = await subscribe(types);
  // Of another account, which must not learn of it.
  await subscribe(types, await insertAccount(db.database));
  asOf = new Date();
  woken = [];
  run = runWith(testEvents);
});
afterAll(() => db.drop());

const query = async <Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> =>
  (await db.database.pool.query<Row>(text, values)).rows;

const runWith = (events: EventPublisher): Run =>
  createCampaignRun({
    pool: db.database.pool,
    evaluations: evaluationsIn(db.database.pool),
    events,
    waker: { wake: (queue: string) => void woken.push(queue) },
    limits: TEST_LIMITS,
    thresholds,
    plusAddresses: false,
    log: pino({ level: 'silent' }),
  });

const once: Stay = { progress: () => undefined, signal: new AbortController().signal, forMs: 30_000 };
const after = (seconds: number) => new Date(asOf.getTime() + seconds * 1_000);

async function subscribe(events: string[], { accountId, brandId } = account): Promise<number> {
  const [row] = await query<{ id: number }>(
    `insert into webhooks (account_id, brand_id, url, events, secret_sealed, secret_last4, enabled, generation)
     values ($1, $2, 'https://receiver.test/', $3, 'sealed', 'last', true, 1) returning id`,
    [accountId, brandId, events],
  );
  return row?.id ?? 0;
}

/** A campaign whose recipients are all written. */
async function written(count: number): Promise<number> {
  if (count > 0) await insertContacts(db.database.pool, account, count);
  const id = await insertSentCampaign(db.database.pool, account, {
    audience: { filters: [], segmentId: 1 },
    asOf,
  });
  await run.look(id, asOf);
  await run.snapshot(id, asOf, once);
  return id;
}

const send = (id: number, outcomeOf: (n: number) => TestOutcome) =>
  sendDueBlocks(db.database.pool, id, after(1), outcomeOf);

interface QueuedEvent {
  webhook: number;
  status: string;
  type: string;
  at: Date;
  data: Record<string, unknown>;
}

/** The queued webhook deliveries of events about a campaign. */
const queuedAbout = (id: number): Promise<QueuedEvent[]> =>
  query<QueuedEvent>(
    `select q.webhook_id as webhook, d.status, e.type, e.occurred_at as at, e.data
     from webhook_queue q
     join webhook_deliveries d on d.id = q.delivery_id and d.created_at = q.created_at
     join events e on e.id = q.event_id and e.created_at = q.created_at
     where (e.data ->> 'campaign_id')::bigint = $1 order by q.delivery_id`,
    [id],
  );

const delivery = (type: string, at: Date, data: Record<string, unknown>) => ({
  ...{ webhook: webhookId, status: 'pending', type, at },
  data: expect.objectContaining({ name: 'Spring sale', canceled_count: 0, unknown_count: 0, ...data }),
});

describe('a subscribed webhook gets', () => {
  it('campaign.completed once, with the final counts', async () => {
    const id = await written(30);
    await send(id, (n) => (n < 4 ? 'failed' : 'sent'));
    await Promise.all([1, 2, 3].map(() => run.finish(id, after(2), once.signal)));
    await run.finish(id, after(3), once.signal);
    expect(await queuedAbout(id)).toEqual([
      delivery('campaign.completed', after(2), {
        ...{ campaign_id: id, audience_count: 30, sent_count: 26, failed_count: 4, skipped_count: 0 },
      }),
    ]);
    expect(woken).toContain('webhook');
  });

  it.each<[string, number]>([
    ['empty_audience', 0],
    ['all_failed', 3],
  ])('campaign.failed with the reason %s', async (reason, recipients) => {
    const id = await written(recipients);
    await send(id, () => 'failed');
    await run.finish(id, after(2), once.signal);
    expect(await queuedAbout(id)).toEqual([
      delivery('campaign.failed', after(2), {
        ...{ reason, audience_count: recipients, sent_count: 0, failed_count: recipients },
      }),
    ]);
    expect(woken).toContain('webhook');
  });

  it('campaign.stopped once, with the rate and the threshold', async () => {
    const id = await written(100);
    await send(id, (n) => (n < 10 ? 'hard_bounce' : 'sent'));
    await run.look(id, after(2));
    await run.look(id, after(3));
    const stop = { reason: 'bounce_rate', rate: 0.1, threshold: 0.05, at: after(2).toISOString() };
    expect(await queuedAbout(id)).toEqual([
      delivery('campaign.stopped', after(2), {
        ...{ campaign_id: id, audience_count: 100, sent_count: 90, failed_count: 10, stop },
      }),
    ]);
    expect(await readCampaign(db.database.pool, id)).toMatchObject({ status: 'paused', stop });
    expect(woken).toContain('webhook');
  });

  it('nothing about a campaign that its account cannot pay for', async () => {
    const id = await written(5);
    await query(
      `update campaign_blocks set hold_reason = 'wallet', due_at = now() + interval '1 hour' where campaign_id = $1`,
      [id],
    );
    await run.look(id, after(2));
    const stop = { reason: 'insufficient_funds', rate: null, threshold: null, at: after(2).toISOString() };
    expect(await readCampaign(db.database.pool, id)).toMatchObject({ status: 'paused', stop });
    expect(await queuedAbout(id)).toEqual([]);
  });

  it('nothing about a campaign that its client cancels', async () => {
    const id = await written(5);
    await inTransaction(db.database.pool, (trx) => cancelCampaign(trx, { id }, { asOf: after(1) }));
    for (let tries = 0; tries < 5; tries += 1) {
      if ((await run.finish(id, after(2), once.signal)).next === 'done') break;
    }
    expect(await readCampaign(db.database.pool, id)).toMatchObject({ phase: 'done', outcome: 'canceled' });
    expect(await queuedAbout(id)).toEqual([]);
  });
});

describe('a campaign whose event cannot be stored', () => {
  const failing = () => runWith({ ...testEvents, publish: () => Promise.reject(new Error('not stored')) });

  it('does not end without it', async () => {
    const id = await written(2);
    await send(id, () => 'sent');
    await expect(failing().finish(id, after(2), once.signal)).rejects.toThrow('not stored');
    expect(await readCampaign(db.database.pool, id)).toMatchObject({ status: 'active', phase: 'sending' });
    await run.finish(id, after(3), once.signal);
    expect((await queuedAbout(id)).map(({ type }) => type)).toEqual(['campaign.completed']);
  });

  it('is not stopped without it, and stops at the next look', async () => {
    const id = await written(100);
    await send(id, (n) => (n < 10 ? 'hard_bounce' : 'sent'));
    await expect(failing().look(id, after(2))).rejects.toThrow('not stored');
    expect(await readCampaign(db.database.pool, id)).toMatchObject({ status: 'active', stop: null });
    await run.look(id, after(3));
    expect((await queuedAbout(id)).map(({ type }) => type)).toEqual(['campaign.stopped']);
  });
});
