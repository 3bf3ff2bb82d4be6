// A look at a campaign that is being sent reads as many rows for thousands of blocks as for a few.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { lookMs } from '../../../../src/features/campaigns/run/next-step.ts';
import { createCampaignRun } from '../../../../src/features/campaigns/run/run.ts';
import { evaluationsIn } from '../../../support/campaign-runs.ts';
import { writeCampaign } from '../../../support/campaigns.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { testEvents } from '../../../support/events.ts';
import { insertAccount, insertSender } from '../../../support/queued.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';

const OWNER = 70;
const thresholds = {
  ...{ bounceRate: 0.05, minBounces: 10, minCounted: 100 },
  ...{ complaintRate: 0.003, minComplaints: 5 },
};

let db: TestDatabase;
let run: ReturnType<typeof createCampaignRun>;
let prefix = 0;

beforeAll(async () => {
  // One connection: it knows what it has read.
  db = await createTestDatabase({ poolMax: 1 });
  await insertSender(db.database, OWNER);
  run = createCampaignRun({
    pool: db.database.pool,
    events: testEvents,
    waker: { wake: () => undefined },
    limits: TEST_LIMITS,
    evaluations: evaluationsIn(db.database.pool),
    thresholds,
    plusAddresses: false,
    log: pino({ level: 'silent' }),
  });
});
afterAll(() => db.drop());

const query = <Row extends object>(text: string, values: unknown[] = []) =>
  db.database.pool.query<Row>(text, values).then(({ rows }) => rows);

/** The rows of all tables that this connection has read so far, by indexes or by scans. */
async function rowsRead(): Promise<number> {
  await query('select pg_stat_force_next_flush()');
  await query('select pg_stat_clear_snapshot()');
  const [row] = await query<{ count: number }>(
    `select (select sum(idx_tup_read) from pg_stat_user_indexes)::int
       + (select sum(seq_tup_read) from pg_stat_user_tables)::int as count`,
  );
  return row?.count ?? 0;
}

interface Waiting {
  options: object;
  /** SQL over the number `n` of a block: when it is due. */
  due: string;
  /** The limit that holds the blocks. */
  hold?: string;
}

/**
 * Writes a campaign with a block of 20 that changed since it was closed, one that a sender has, and further ones: half of
 * them were sent, and the others wait.
 */
async function write(blocks: number, { options, due, hold }: Waiting): Promise<number> {
  const account = await insertAccount(db.database);
  const size = { recipients: 40, blockSize: 20, prefix: `cost${++prefix}-` };
  const { campaignId } = await writeCampaign(db.database, account, size);
  await query(
    `update campaigns set options = $2, sending_at = now(), audience_count = 40 + 20 * $3::int where id = $1`,
    [campaignId, JSON.stringify(options), blocks],
  );
  await query('update campaign_blocks set owner = $2, claim_epoch = 1 where campaign_id = $1 and n = 1', [
    campaignId,
    OWNER,
  ]);
  // Messages of these were never written: nothing may read them.
  await query(
    `insert into campaign_blocks (campaign_id, n, account_id, channel, first_id, last_id, size, due_at, hold_reason,
       closed_at, recount, sent, counted)
     select $1, n, $2, 'email', 1000000000 + 20 * n, 1000000019 + 20 * n, 20,
       case when n % 2 = 0 then now() else ${due} end, case when n % 2 = 1 then $4 end,
       case when n % 2 = 0 then now() end, n % 2 = 1, case when n % 2 = 0 then 20 else 0 end,
       case when n % 2 = 0 then 20 else 0 end
     from generate_series(2, $3::int + 1) n`,
    [campaignId, account.accountId, blocks, hold ?? null],
  );
  return campaignId;
}

async function costOf(campaignId: number): Promise<number> {
  await query('analyze campaign_blocks');
  let cost = 0;
  for (let looks = 0; looks < 2; looks += 1) {
    await query(
      'update campaign_blocks set closed_at = now(), recount = true where campaign_id = $1 and n = 0',
      [campaignId],
    );
    const before = await rowsRead();
    await run.look(campaignId, new Date());
    cost = (await rowsRead()) - before;
  }
  return cost;
}

const ab = { variants: [{ subject: 'A', weight: 50 }], by: 'opens', after_seconds: 3_600 };

describe('a look', () => {
  it.each<[string, Waiting]>([
    ['is throttled', { options: { throttle_per_minute: 600 }, due: 'now() + make_interval(secs => 2 * n)' }],
    ['is held', { options: {}, due: `now() + interval '6 hours'`, hold: 'domain_unverified' }],
    ['is held for minutes', { options: {}, due: `now() + interval '5 minutes'`, hold: 'account_paused' }],
    ['waits for its winner', { options: { ab }, due: `'infinity'` }],
    ['is due', { options: {}, due: `now() - interval '1 minute'` }],
  ])('costs the same at any size of a campaign that %s', async (_what, waiting) => {
    const small = await costOf(await write(100, waiting));
    const large = await costOf(await write(5_000, waiting));
    expect(large).toBeLessThan(small + 1_000);
  });
});

describe('an activity that stays looks', () => {
  const asOf = new Date('2030-01-01T00:00:00Z');
  const none = { taken: false, dueSince: null };
  const sent = { ...none, taken: true };
  const waitFor = (seconds: number) => ({
    reason: 'throttle' as const,
    until: new Date(asOf.getTime() + seconds * 1_000),
  });

  it.each([
    [6_000, 1_000],
    [600, 2_000],
    [150, 8_000],
    [60, 10_000],
    [null, 1_000],
  ])('once for 20 messages at %s a minute', (perMinute, expected) => {
    expect(lookMs({ options: { throttle_per_minute: perMinute } }, sent, null, asOf)).toBe(expected);
  });

  it.each([
    [0.5, 1_000],
    [5, 5_000],
    [100, 10_000],
  ])('when something is due in %d s', (seconds, expected) => {
    expect(lookMs({ options: {} }, none, waitFor(seconds), asOf)).toBe(expected);
  });

  it('soon if something stops the campaign', () => {
    expect(lookMs({ options: {} }, none, { ...waitFor(300), reason: 'wallet' }, asOf)).toBe(1_000);
  });
});
