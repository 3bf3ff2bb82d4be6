// A campaign stops at its thresholds, ends once with its counts, and says what it waits for.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { campaignCounts } from '../../../../src/features/campaigns/campaign-counts.ts';
import { readCampaign } from '../../../../src/features/campaigns/run/page.ts';
import { createCampaignRun, type Stay } from '../../../../src/features/campaigns/run/run.ts';
import { stopReason } from '../../../../src/delivery/ledger/limits/stop-thresholds.ts';
import { resumeCampaign } from '../../../../src/features/campaigns/transitions.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import {
  blocksOf,
  type CampaignSpec,
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
  bounceRate: 0.05,
  minBounces: 10,
  complaintRate: 0.003,
  minComplaints: 5,
  minCounted: 100,
};

let db: TestDatabase;
let account: QueuedAccount;
let asOf = new Date();

beforeAll(async () => {
  db = await createTestDatabase({ poolMax: 6 });
}, 60_000);
beforeEach(async () => {
  account = await insertAccount(db.database);
  asOf = new Date();
});
afterAll(() => db.drop());

const query = (text: string, values: unknown[] = []) =>
  db.database.pool.query<Record<string, unknown>>(text, values);

const courseOf = () =>
  createCampaignRun({
    pool: db.database.pool,
    evaluations: evaluationsIn(db.database.pool),
    events: testEvents,
    waker: { wake: () => undefined },
    limits: TEST_LIMITS,
    thresholds,
    plusAddresses: false,
    log: pino({ level: 'silent' }),
  });

const once: Stay = { progress: () => undefined, signal: new AbortController().signal, forMs: 30_000 };
const after = (seconds: number) => new Date(asOf.getTime() + seconds * 1_000);
const rowOf = (id: number) => readCampaign(db.database.pool, id);
const countsOf = async (id: number) => (await campaignCounts(db.database.pool, [id])).get(id);

/** A campaign whose recipients are all written. */
async function written(count: number, spec: CampaignSpec = {}): Promise<number> {
  if (count > 0) await insertContacts(db.database.pool, account, count);
  const audience = { filters: [], segmentId: 1 };
  const id = await insertSentCampaign(db.database.pool, account, { audience, asOf, ...spec });
  const run = courseOf();
  expect((await run.look(id, asOf)).next).toBe('snapshot');
  await run.snapshot(id, asOf, once);
  return id;
}

const firstAre = (count: number, outcome: TestOutcome) => (n: number) => (n < count ? outcome : 'sent');

describe('the stop thresholds', () => {
  const harm = (counted: number, bounced: number, complained: number) =>
    stopReason({ counted, bounced, complained }, thresholds)?.reason ?? null;

  it('stop at 5 % and 10 hard bounces, from 100 emails on', () => {
    expect(harm(200, 10, 0)).toBe('bounce_rate');
    expect(harm(201, 10, 0)).toBeNull();
    expect(harm(100, 9, 0)).toBeNull();
    expect(harm(99, 50, 0)).toBeNull();
    expect(harm(100, 10, 0)).toBe('bounce_rate');
  });

  it('stop at 0.3 % and 5 complaints', () => {
    expect(harm(1_666, 0, 5)).toBe('complaint_rate');
    expect(harm(1_667, 0, 5)).toBeNull();
    expect(harm(1_000, 0, 4)).toBeNull();
  });

  it('pause the campaign with the reason', async () => {
    const id = await written(100);
    await sendDueBlocks(db.database.pool, id, after(1), firstAre(10, 'hard_bounce'));
    expect((await courseOf().look(id, after(2))).next).toBe('wait');
    expect(await rowOf(id)).toMatchObject({
      status: 'paused',
      stop: { reason: 'bounce_rate', rate: 0.1, threshold: 0.05, at: after(2).toISOString() },
    });
  });

  it('count from a resume on', async () => {
    const id = await written(220, { options: { throttle_per_minute: 110 } });
    const run = courseOf();
    await query(`update campaign_blocks set due_at = 'infinity' where campaign_id = $1 and n > 4`, [id]);
    await sendDueBlocks(db.database.pool, id, after(200), (n) => (n < 3 ? 'hard_bounce' : 'sent'));
    await run.look(id, after(201));
    expect(await rowOf(id)).toMatchObject({ status: 'paused' });
    await inTransaction(db.database.pool, (trx) => resumeCampaign(trx, { id }, { asOf: after(300) }));
    await run.look(id, after(301));
    expect(await rowOf(id)).toMatchObject({ status: 'active', stop: null });
  });

  it('do not count late reports about messages sent before the resume', async () => {
    const id = await written(2_000);
    const blocks = await blocksOf(db.database.pool, id);
    await query(`update campaign_blocks set due_at = 'infinity' where campaign_id = $1 and n = $2`, [
      id,
      blocks.at(-1)?.n,
    ]);
    await sendDueBlocks(db.database.pool, id, after(1));
    const run = courseOf();
    await run.look(id, after(2));
    await query(`update campaigns set status = 'paused' where id = $1`, [id]);
    await inTransaction(db.database.pool, (trx) => resumeCampaign(trx, { id }, { asOf: after(300) }));
    await run.look(id, after(301));
    await query(
      `update messages set status = 'complained' where id = any(array(
         select id from messages where campaign_id = $1 and sent_at is not null limit 50))`,
      [id],
    );
    await query(
      'update campaign_blocks set recount = true where campaign_id = $1 and closed_at is not null',
      [id],
    );
    await query(`update campaign_blocks set due_at = $2 where campaign_id = $1 and due_at = 'infinity'`, [
      id,
      after(302),
    ]);
    await sendDueBlocks(db.database.pool, id, after(303));
    await run.look(id, after(304));
    expect(await rowOf(id)).toMatchObject({ status: 'active', stop: null });
    await query(
      `update messages set status = 'complained' where id = any(array(
         select id from messages where campaign_id = $1 and sent_at = $2 limit 5))`,
      [id, after(303)],
    );
    await query(
      'update campaign_blocks set recount = true where campaign_id = $1 and closed_at is not null',
      [id],
    );
    await run.look(id, after(305));
    expect(await rowOf(id)).toMatchObject({ status: 'paused', stop: { reason: 'complaint_rate' } });
  });

  it('count late reports about messages sent since then', async () => {
    const id = await written(1_000);
    const blocks = await blocksOf(db.database.pool, id);
    await query(`update campaign_blocks set due_at = 'infinity' where campaign_id = $1 and n = $2`, [
      id,
      blocks.at(-1)?.n,
    ]);
    await sendDueBlocks(db.database.pool, id, after(1));
    const run = courseOf();
    await run.look(id, after(2));
    expect(await rowOf(id)).toMatchObject({ status: 'active' });
    await query(
      `update messages set status = 'complained' where id = any(array(
         select id from messages where campaign_id = $1 and sent_at is not null limit 5))`,
      [id],
    );
    await query(
      'update campaign_blocks set recount = true where campaign_id = $1 and closed_at is not null',
      [id],
    );
    await run.look(id, after(3));
    expect(await rowOf(id)).toMatchObject({ status: 'paused', stop: { reason: 'complaint_rate' } });
  });
});

describe('the end of a campaign', () => {
  it('comes when no work is open, with its counts', async () => {
    const id = await written(30);
    const run = courseOf();
    await run.finish(id, after(1), once.signal);
    expect(await rowOf(id)).toMatchObject({ status: 'active' });
    await sendDueBlocks(db.database.pool, id, after(2), firstAre(4, 'failed'));
    expect((await run.look(id, after(3))).next).toBe('finish');
    expect((await run.finish(id, after(3), once.signal)).next).toBe('done');
    expect(await rowOf(id)).toMatchObject({
      status: 'completed',
      phase: 'done',
      outcome: 'completed',
      finished_at: after(3),
      engine_expected_by: null,
    });
    expect(await countsOf(id)).toEqual({
      ...{ audience: 30, sent: 26, failed: 4, skipped: 0, unknown: 0, canceled: 0, remaining: 0 },
    });
  });

  it('is a failure if no recipient was reached', async () => {
    const id = await written(0);
    await courseOf().finish(id, after(1), once.signal);
    expect(await rowOf(id)).toMatchObject({ status: 'completed', outcome: 'failed' });
    const other = await written(3);
    await sendDueBlocks(db.database.pool, other, after(1), () => 'failed');
    await courseOf().finish(other, after(2), once.signal);
    expect(await rowOf(other)).toMatchObject({ outcome: 'failed' });
  });

  it('is not repeated', async () => {
    const id = await written(2);
    await sendDueBlocks(db.database.pool, id, after(1));
    const run = courseOf();
    await Promise.all([1, 2, 3].map(() => run.finish(id, after(2), once.signal)));
    expect(await rowOf(id)).toMatchObject({ finished_at: after(2) });
    expect((await run.look(id, after(9))).next).toBe('done');
  });
});

describe('a throttled campaign', () => {
  it('says that it waits for its throttle, and until when', async () => {
    const id = await written(60, { options: { throttle_per_minute: 20 } });
    // The snapshot's time goes on while it is written, so the first block may be due a few milliseconds after `asOf`.
    const first = (await blocksOf(db.database.pool, id))[0]?.due_at?.getTime() ?? 0;
    await sendDueBlocks(db.database.pool, id, new Date(first));
    const { state } = await courseOf().look(id, new Date(first + 2_000));
    expect(state).toMatchObject({ waitingFor: 'throttle', until: new Date(first + 60_000).toISOString() });
    expect(state.counts).toMatchObject({ audience: 60, sent: 20, remaining: 40 });
  });

  it('shows this even if its blocks are late, while its last recipients take up the rate', async () => {
    const id = await written(60, { options: { throttle_per_minute: 20 } });
    await query('insert into campaign_turns (campaign_id, claimed_at, next_free_at) values ($1, $2, $3)', [
      ...[id, after(3_600), after(3_630)],
    ]);
    const { next, state } = await courseOf().look(id, after(3_610));
    expect(state).toMatchObject({ waitingFor: 'throttle', until: after(3_630).toISOString() });
    expect(next).toBe('watch');
  });
});

describe('an A/B test', () => {
  const ab = {
    variants: [
      { subject: 'A', weight: 10 },
      { subject: 'B', weight: 10 },
    ],
    by: 'opens' as const,
    after_seconds: 3_600,
  };

  it('is decided at once if none of its messages was sent', async () => {
    const id = await written(1, { options: { ab }, versionIds: [11, 12] });
    await query(`update campaign_blocks set due_at = 'infinity' where campaign_id = $1`, [id]);
    await courseOf().look(id, after(60));
    expect(await rowOf(id)).toMatchObject({ winner: 0 });
    expect((await blocksOf(db.database.pool, id)).map(({ due_at: due }) => due)).toEqual([after(60)]);
  });

  it('sends the winner to the remaining recipients at the pace of the throttle', async () => {
    const id = await written(100, { options: { ab, throttle_per_minute: 20 }, versionIds: [11, 12] });
    await sendDueBlocks(db.database.pool, id, after(600));
    await courseOf().look(id, after(600 + 3_601));
    const rest = (await blocksOf(db.database.pool, id)).filter(({ closed }) => !closed);
    expect(rest.reduce((sum, { size }) => sum + size, 0)).toBeGreaterThan(70);
    let dueAt = after(600 + 3_601).getTime();
    for (const { due_at: due, size } of rest) {
      expect(due?.getTime()).toBe(dueAt);
      dueAt += size * 3_000;
    }
  });
});
