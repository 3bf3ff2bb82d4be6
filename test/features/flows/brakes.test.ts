// A flow pauses once if its bounces or complaints of seven days reach a threshold, counted from its resume.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { brakeFlows } from '../../../src/features/flows/brakes.ts';
import { foldFlowCounts } from '../../../src/features/flows/counts.ts';
import { resumeFlow } from '../../../src/features/flows/index.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { createTestTenant, type TestTenant } from '../../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { testEvents } from '../../support/events.ts';
import { writeFlow } from '../../support/flow-sends.ts';
import { addWebhook } from '../../support/webhooks.ts';

const LIMITS = { bounceRate: 0.05, minBounces: 10, complaintRate: 0.003, minComplaints: 5, minCounted: 100 };

let test: TestDatabase;
let account: TestTenant;
let flowId: number;

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());
beforeEach(async () => {
  account = await createTestTenant(test.database, 'Acme');
  ({ flowId } = await writeFlow(test.database, account));
  await addWebhook(test.database, account, 'https://hooks.example.test', ['flow.paused']);
  await query(`update flows set counted_from = now() - interval '30 days' where id = $1`, [flowId]);
});

const query = async (sql: string, values: unknown[] = []) =>
  (await test.database.pool.query<Record<string, unknown>>(sql, values)).rows;

interface Outcomes {
  attempted: number;
  hard_bounced?: number;
  complained?: number;
}

/** Counts outcomes of messages that were sent so long ago, and folds them. */
async function count(
  { attempted, hard_bounced = 0, complained = 0 }: Outcomes,
  ago = '1 second',
): Promise<void> {
  await query(
    `insert into flow_count_changes (flow_id, step_id, name, change, at)
     select $1, 1, name, change, now() - $2::interval
     from unnest(array['attempted', 'hard_bounced', 'complained', 'sent'], array[$3, $4, $5, $3]::int[]) as c (name, change)
     where change > 0`,
    [flowId, ago, attempted, hard_bounced, complained],
  );
  while (await foldFlowCounts(test.database.pool));
}

const deps = () => ({ pool: test.database.pool, events: testEvents });
const brake = () => brakeFlows(deps(), LIMITS, new Date(), () => undefined);
const statusOf = async () => (await query('select status, stop from flows where id = $1', [flowId]))[0];
const events = () => query(`select type, data from events where brand_id = $1`, [account.brandId]);

describe('a flow', () => {
  it.each([
    ['99 emails, all bounced', { attempted: 99, hard_bounced: 99 }, null],
    ['100 emails, 9 bounced', { attempted: 100, hard_bounced: 9 }, null],
    ['201 emails, 10 bounced', { attempted: 201, hard_bounced: 10 }, null],
    ['200 emails, 10 bounced', { attempted: 200, hard_bounced: 10 }, 'bounce_rate'],
    ['100 emails, 4 complaints', { attempted: 100, complained: 4 }, null],
    ['100 emails, 5 complaints', { attempted: 100, complained: 5 }, 'complaint_rate'],
    ['2,000 emails, 5 complaints', { attempted: 2_000, complained: 5 }, null],
  ])('after %s: %s is the reason %s', async (_, outcomes, reason) => {
    await count(outcomes);
    const braked = await brake();
    expect(braked.map((each) => each.reason)).toEqual(reason === null ? [] : [reason]);
    expect(await statusOf()).toMatchObject({ status: reason === null ? 'active' : 'paused' });
  });

  it('is paused once, with its cause and one event', async () => {
    await count({ attempted: 200, hard_bounced: 20 });
    const asOf = new Date('2026-05-04T10:00:00.000Z');
    const both = await Promise.all([1, 2].map(() => brakeFlows(deps(), LIMITS, new Date(), () => undefined)));
    expect(both.flat()).toHaveLength(1);
    await count({ attempted: 10, hard_bounced: 10 });
    expect(await brakeFlows(deps(), LIMITS, asOf, () => undefined)).toEqual([]);
    const cause = { reason: 'bounce_rate', rate: 0.1, threshold: 0.05 };
    expect(await statusOf()).toMatchObject({ status: 'paused', stop: cause });
    expect(await events()).toMatchObject([
      { type: 'flow.paused', data: { flow_id: flowId, name: 'Welcome', sent_count: 200, cause } },
    ]);
  });

  it('is judged again by later results, not by those already judged', async () => {
    await count({ attempted: 99, hard_bounced: 12 });
    expect(await brake()).toEqual([]);
    expect(await query('select 1 from flow_outcomes where flow_id = $1 and unjudged', [flowId])).toEqual([]);
    await count({ attempted: 1 });
    expect(await brake()).toHaveLength(1);
  });

  it('looks back seven days', async () => {
    await count({ attempted: 500, hard_bounced: 500 }, '8 days');
    await count({ attempted: 100 });
    expect(await brake()).toEqual([]);
  });

  it('starts over with a resume, also for results of emails sent before it', async () => {
    await count({ attempted: 200, hard_bounced: 20 });
    expect(await brake()).toHaveLength(1);
    await inTransaction(test.database.pool, (trx) => resumeFlow(trx, { id: flowId }, {}));
    await count({ attempted: 50, hard_bounced: 50 }, '5 minutes');
    expect(await brake()).toEqual([]);
    expect(await statusOf()).toMatchObject({ status: 'active' });
    await query(`update flows set counted_from = now() - interval '1 second' where id = $1`, [flowId]);
    await count({ attempted: 100, hard_bounced: 5 }, '0 seconds');
    expect(await brake()).toEqual([]);
    await count({ attempted: 5, hard_bounced: 5 }, '0 seconds');
    expect(await brake()).toHaveLength(1);
  });
});
