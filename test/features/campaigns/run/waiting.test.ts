// A waiting campaign names the limit that holds its blocks, and waits until whatever is due first.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { blockHoldReasons } from '../../../../src/delivery/ledger/limits/block-limits.ts';
import type { CampaignRow } from '../../../../src/features/campaigns/model.ts';
import { nextOf } from '../../../../src/features/campaigns/run/next-step.ts';
import { readCampaign } from '../../../../src/features/campaigns/run/page.ts';
import { readOpenWork, waitingOf } from '../../../../src/features/campaigns/run/waiting.ts';
import { campaignWaitMs } from '../../../../workflows/campaigns/contract.ts';
import { writeCampaign } from '../../../support/campaigns.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { insertAccount } from '../../../support/queued.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';

const asOf = new Date('2030-01-01T00:00:00Z');
const minutes = (count: number) => new Date(asOf.getTime() + count * 60_000);

let db: TestDatabase;
let id: number;
let messageId: number;
let prefix = 0;

beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());
beforeEach(async () => {
  const account = await insertAccount(db.database);
  const size = { recipients: 4, blockSize: 1, prefix: `w${++prefix}-` };
  const written = await writeCampaign(db.database, account, size);
  id = written.campaignId;
  messageId = written.messageIds[0] ?? 0;
});

const query = (text: string, values: unknown[] = []) => db.database.pool.query(text, [id, ...values]);

async function look() {
  const row = (await readCampaign(db.database.pool, id)) as CampaignRow;
  const work = await readOpenWork(db.database.pool, id, asOf);
  const waiting = (await waitingOf(db.database.pool, [row], { settings: TEST_LIMITS, asOf })).get(id) ?? null;
  const until = waiting?.until?.toISOString() ?? null;
  const state = { ...row, waitingFor: waiting?.reason ?? null, until, freeAt: work.nextFree?.toISOString() };
  return {
    waiting,
    next: nextOf(row, work, waiting, asOf),
    waitMs: campaignWaitMs(state, asOf.getTime()),
  };
}

/** Makes all blocks due then. */
const dueIn = (count: number) =>
  query('update campaign_blocks set due_at = $2 where campaign_id = $1', [minutes(count)]);
const hold = (reason: string, count: number) =>
  query('update campaign_blocks set hold_reason = $2, due_at = $3 where campaign_id = $1 and n = 1', [
    reason,
    minutes(count),
  ]);

const retryIn = (count: number) =>
  query(
    `insert into send_queue (message_id, account_id, channel, class, due_at, queued_at, campaign_id)
     select $2, account_id, channel, 2, $3, now(), id from campaigns where id = $1`,
    [messageId, minutes(count)],
  );

/** Limits at whose blocks senders look again and again. */
const rechecked = ['account_paused', 'domain_unverified', 'provider_unavailable', 'allowance'];

const shown: Readonly<Record<string, string>> = {
  ...{ pacing: 'throttle', warm_up: 'allowance', sandbox_cap: 'sandbox', provider_unavailable: 'provider' },
};

describe('a campaign with held blocks', () => {
  it.each(blockHoldReasons.map((reason) => [reason, shown[reason] ?? reason]))(
    'that %s holds waits for %s, also if others are due sooner',
    async (reason, expected) => {
      await dueIn(60);
      await hold(reason, 360);
      expect((await look()).waiting).toEqual({ reason: expected, until: minutes(60) });
    },
  );

  it.each(['account_paused', 'domain_unverified', 'provider_unavailable'])(
    'sleeps through the looks of senders while it is held by %s',
    async (reason) => {
      await dueIn(360);
      await hold(reason, 1);
      const { next, waitMs } = await look();
      expect({ next, waitMs }).toEqual({ next: 'wait', waitMs: 600_000 });
    },
  );

  it.each(rechecked)('is watched while %s holds it and others are due within two minutes', async (reason) => {
    await dueIn(1);
    await hold(reason, 360);
    expect((await look()).next).toBe('watch');
  });

  it.each(rechecked)('is watched while %s holds its blocks and retries are due', async (reason) => {
    await dueIn(360);
    await hold(reason, 360);
    await retryIn(1);
    expect((await look()).next).toBe('watch');
  });

  it.each(rechecked.slice(0, 3))('gets its next look when others are due if %s holds it', async (reason) => {
    await dueIn(4);
    await hold(reason, 3);
    const { next, waitMs } = await look();
    expect({ next, waitMs }).toEqual({ next: 'wait', waitMs: 240_000 });
  });

  it('is watched until the throttle lets its overdue blocks go', async () => {
    await dueIn(-1);
    await hold('provider_unavailable', 3);
    await query('insert into campaign_turns (campaign_id, claimed_at, next_free_at) values ($1, $2, $3)', [
      asOf,
      minutes(1),
    ]);
    expect((await look()).next).toBe('watch');
  });

  it.each(['wallet', 'spend_cap', 'sandbox_cap'])(
    'gets another look at once if %s holds it after a look',
    async (reason) => {
      await dueIn(360);
      await hold(reason, 300);
      expect((await look()).next).toBe('watch');
    },
  );
});

it('is watched until senders hold its due blocks, even if its account may send nothing', async () => {
  await query(
    'update accounts set allowance_per_day = 0 where id = (select account_id from campaigns where id = $1)',
  );
  await dueIn(-5);
  expect(await look()).toMatchObject({ waiting: { reason: 'allowance' }, next: 'watch' });
});

describe('the time until which a campaign waits', () => {
  it('is that of a retry before its next block', async () => {
    await dueIn(60);
    await retryIn(5);
    expect((await look()).waiting).toEqual({ reason: 'throttle', until: minutes(5) });
  });

  it('is that of its next block before a retry', async () => {
    await dueIn(60);
    await retryIn(90);
    expect((await look()).waiting).toEqual({ reason: 'throttle', until: minutes(60) });
  });

  it.each([
    [5, 5],
    [45, 30],
  ])('is a retry in %d minutes or the decision in 30: in %d', async (retry, expected) => {
    const ab = { variants: [{ subject: 'A', weight: 50 }], by: 'opens', after_seconds: 1_800 };
    await query('update campaigns set options = $2 where id = $1', [JSON.stringify({ ab })]);
    await query(
      `update campaign_blocks set closed_at = case when n < 2 then $2::timestamptz end,
         due_at = case when n < 2 then $2::timestamptz else 'infinity' end where campaign_id = $1`,
      [asOf],
    );
    await retryIn(retry);
    expect((await look()).waiting).toEqual({ reason: 'ab_winner', until: minutes(expected) });
  });
});
