// Bounces and complaints pause an account once, and a nightly recount corrects its used allowance.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { lookAtAccounts, pauseAccount } from '../../../src/features/brakes/service.ts';
import { resumeSending } from '../../../src/features/accounts/service.ts';
import { upkeep } from '../../../src/features/upkeep.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { testEvents } from '../../support/events.ts';
import { writeCampaign } from '../../support/campaigns.ts';
import { queueEmails } from '../../support/queued.ts';
import { addWebhook } from '../../support/webhooks.ts';

let api: TestApi;
let woken: string[] = [];

beforeAll(async () => {
  api = await startTestApi();
  await query(`update accounts set tier = 'trusted', allowance_per_day = 100 where id = $1`, [api.accountId]);
  const { rows } = await api.database.pool.query<{ id: number }>(
    `insert into brands (account_id, company_name) values ($1, 'Second') returning id`,
    [api.accountId],
  );
  for (const brandId of [api.brandId, rows[0]?.id ?? 0]) {
    await addWebhook(api.database, { ...api, brandId }, 'https://example.test/', [
      'sending.paused',
      'sending.limit_approaching',
      'sending.limit_reached',
    ]);
  }
});
afterAll(() => api.close());
beforeEach(async () => {
  woken = [];
  await query('truncate account_outcomes, allowance_buckets, allowance_episodes, events, webhook_queue');
  await resumeSending(api.database.pool, api.accountId);
});

async function query<Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> {
  return (await api.database.pool.query<Row>(text, values)).rows;
}

const look = () =>
  lookAtAccounts({
    config: api.config,
    database: api.database,
    waker: { wake: (channel) => woken.push(channel) },
    events: testEvents,
    log: pino({ level: 'silent' }),
  });

interface Published {
  type: string;
  brand_id: number;
  data: Record<string, unknown>;
}
const published = () => query<Published>('select type, brand_id, data from events order by brand_id, type');
const types = async () => (await published()).map(({ type }) => type);

const outcomes = (attempted: number, hardBounces: number, complaints: number, hoursAgo = 0) =>
  query(
    `insert into account_outcomes (account_id, hour, attempted, hard_bounces, complaints)
     values ($1, date_trunc('hour', now(), 'UTC') - make_interval(hours => $5), $2, $3, $4)`,
    [api.accountId, attempted, hardBounces, complaints, hoursAgo],
  );

const pausedFor = async () => {
  const [account] = await query<{ reason: string | null }>(
    'select sending_paused_reason as reason from accounts where id = $1',
    [api.accountId],
  );
  return account?.reason ?? null;
};

describe('the brakes', () => {
  it.each([
    [499, 499, 499, null],
    [500, 49, 2, null],
    [500, 50, 0, 'bounce_rate'],
    [500, 0, 4, null],
    [500, 0, 5, 'complaint_rate'],
    [1_000, 0, 4, null],
    [1_000, 99, 5, 'complaint_rate'],
    [2_000, 0, 9, null],
  ])(
    'after %i emails, %i hard bounces and %i complaints pause for %s',
    async (sent, hard, complaints, reason) => {
      await outcomes(sent, hard, complaints);
      await look();
      expect(await pausedFor()).toBe(reason);
    },
  );

  it('look at the last seven days', async () => {
    await outcomes(400, 100, 0, 100);
    await outcomes(10_000, 0, 0, 200);
    await outcomes(100, 0, 0);
    await look();
    expect(await pausedFor()).toBe('bounce_rate');
  });

  it('publish sending.paused to every brand once, and write to the owners', async () => {
    await outcomes(500, 50, 0);
    await Promise.all([look(), look()]);
    await look();
    const events = await published();
    expect(events.map(({ type, data }) => [type, data])).toEqual([
      ['sending.paused', { account_id: api.accountId, reason: 'bounce_rate' }],
      ['sending.paused', { account_id: api.accountId, reason: 'bounce_rate' }],
    ]);
    expect(new Set(events.map(({ brand_id }) => brand_id)).size).toBe(2);
    expect(woken).toContain('webhook');
    expect(woken).toContain('send');
    const mails = await query(
      `select to_address, subject, text from messages join message_contents on message_id = id
       where subject = 'Sending from your account is paused'`,
    );
    expect(mails.slice(-1)).toMatchObject([
      { to_address: api.email, text: expect.stringContaining('10.00%') },
    ]);
  });

  it('start counting again after the account is resumed', async () => {
    await outcomes(500, 50, 0);
    await look();
    await resumeSending(api.database.pool, api.accountId);
    await look();
    expect(await pausedFor()).toBeNull();
    await outcomes(500, 50, 0);
    await look();
    expect(await pausedFor()).toBe('bounce_rate');
    expect((await types()).length).toBe(4);
  });

  it('do not apply to the system account', async () => {
    await query(
      `insert into account_outcomes (account_id, hour, attempted, hard_bounces)
       select id, date_trunc('hour', now(), 'UTC'), 500, 500 from accounts where kind = 'system'`,
    );
    await look();
    expect(await query(`select 1 from accounts where sending_paused_at is not null`)).toEqual([]);
  });

  it('keep an operator’s pause, which also publishes sending.paused once', async () => {
    await inTransaction(api.database.pool, (trx) => pauseAccount(trx, testEvents, api.accountId, 'unpaid'));
    await outcomes(500, 500, 0);
    await look();
    await inTransaction(api.database.pool, (trx) =>
      pauseAccount(trx, testEvents, api.accountId, 'still unpaid'),
    );
    expect(await types()).toEqual(['sending.paused', 'sending.paused']);
    expect(await pausedFor()).toBe('still unpaid');
    const { body } = await api.request('GET', '/v1/my/delivery/status');
    expect(body).toMatchObject({ state: 'blocked', reason: 'account_paused' });
    expect(body.pause).toEqual({ since: expect.any(String), reason: 'still unpaid' });
  });
});

describe('the events of the allowance', () => {
  const use = (used: number) =>
    query(
      `insert into allowance_buckets (account_id, bucket, used)
       values ($1, date_bin('10 minutes', now(), timestamptz '2000-01-01 00:00Z'), $2)
       on conflict (account_id, bucket) do update set used = excluded.used`,
      [api.accountId, used],
    );

  it('are published once per episode, for every brand', async () => {
    const after = async (used: number) => {
      await use(used);
      await Promise.all([look(), look()]);
      await look();
      const found = (await types()).map((type) => type.replace('sending.limit_', ''));
      await query('truncate events, webhook_queue');
      return found;
    };
    expect(await after(79)).toEqual([]);
    expect(await after(80)).toEqual(['approaching', 'approaching']);
    expect(await after(99)).toEqual([]);
    expect(await after(100)).toEqual(['reached', 'reached']);
    expect(await after(80)).toEqual([]);
    expect(await after(100)).toEqual([]);
    expect(await after(79)).toEqual([]);
    expect(await after(100)).toEqual(['reached', 'reached']);
    expect(await after(69)).toEqual([]);
    expect(await after(100)).toEqual(['approaching', 'reached', 'approaching', 'reached']);
  });

  it('contain the allowance, the used places, and when places return', async () => {
    await use(85);
    await look();
    const [event] = await published();
    expect(event?.data).toEqual({
      allowance: 100,
      used: 85,
      resets_at: expect.stringMatching(/^\d{4}-.*Z$/),
    });
  });

  it('end an episode when the places return, although nothing is sent', async () => {
    await use(100);
    await look();
    await query(`update allowance_buckets set bucket = bucket - interval '25 hours'`);
    await look();
    expect(await query('select approaching, reached from allowance_episodes')).toEqual([
      { approaching: false, reached: false },
    ]);
  });
});

describe('the nightly recount of the allowance', () => {
  const recount = async (hour: string) => {
    const task = upkeep.tasks.find(({ name }) => name === 'allowance_recount');
    const [row] = await query<{ at: Date }>(
      `select date_trunc('day', now(), 'UTC') + make_interval(hours => $1) as at`,
      [Number(hour)],
    );
    const deps = { config: api.config, database: api.database, log: pino({ level: 'silent' }), ...upkeep };
    return task?.run(deps, row?.at ?? new Date(), () => undefined);
  };
  const used = async () =>
    (await query<{ used: number }>('select sum(used)::int as used from allowance_buckets'))[0]?.used;
  /** Messages and the bucket, in their state three hours after the start of the day. */
  async function sent(count: number, inBucket: number): Promise<void> {
    await query('truncate messages, message_contents, send_queue');
    const ids = await queueEmails(api.database, api, count);
    await query(
      `update messages set status = 'sent', created_at = date_trunc('day', now(), 'UTC') + interval '2 hours',
         sent_at = date_trunc('day', now(), 'UTC') + interval '2 hours', updated_at = now() where id = any($1)`,
      [ids.slice(1)],
    );
    await query('delete from send_queue where message_id = any($1)', [ids.slice(1)]);
    // The first message is claimed but not sent yet.
    await query(
      `update send_queue set reserved_bucket = date_trunc('day', now(), 'UTC') + interval '2 hours'`,
    );
    await query(
      `insert into allowance_buckets (account_id, bucket, used)
       values ($1, date_trunc('day', now(), 'UTC') + interval '2 hours', $2)`,
      [api.accountId, inBucket],
    );
  }

  it.each([
    ['has too many places', 15],
    ['has too few places', 4],
    ['is right', 10],
  ])('corrects an account that %s', async (_name, inBucket) => {
    await sent(10, inBucket);
    expect(await recount('3')).toBe(inBucket === 10 ? 0 : 1);
    expect(await used()).toBe(10);
    expect(await recount('3')).toBe(0);
  });

  it.each([
    ['in the present range', 'null'],
    ['in an earlier range', `now() - interval '10 days'`],
  ])('counts messages that were scheduled weeks before they were sent, %s', async (_name, closedAt) => {
    await sent(10, 10);
    const at = `date_trunc('day', now(), 'UTC') + interval '2 hours'`;
    await query(
      `update messages set created_at = ${at} - interval '20 days', scheduled_at = ${at} where status = 'sent'`,
    );
    await query(`update message_ranges set closed_at = ${closedAt}`);
    await query(`insert into message_ranges (n, opened_at) select max(n) + 1, now() from message_ranges`);
    expect(await recount('3')).toBe(0);
    expect(await used()).toBe(10);
    await query('delete from message_ranges where n = (select max(n) from message_ranges)');
    await query('update message_ranges set closed_at = null');
  });

  it('counts recipients of a campaign that was written days before it was sent', async () => {
    await query('truncate messages, message_contents, send_queue');
    const { campaignId } = await writeCampaign(api.database, api, { recipients: 10 });
    const at = `date_trunc('day', now(), 'UTC') + interval '2 hours'`;
    await query(
      `update messages set status = 'sent', created_at = ${at} - interval '6 days', sent_at = ${at}, updated_at = now()
       where campaign_id = $1`,
      [campaignId],
    );
    await query('update campaign_blocks set claim_epoch = 1, closed_at = now() where campaign_id = $1', [
      campaignId,
    ]);
    await query(`insert into allowance_buckets (account_id, bucket, used) values ($1, ${at}, 12)`, [
      api.accountId,
    ]);
    expect(await recount('3')).toBe(1);
    expect(await used()).toBe(10);
    await query('delete from campaigns where id = $1', [campaignId]);
    await query('truncate messages, campaign_blocks');
  });

  it('runs once a night', async () => {
    await sent(10, 15);
    expect(await recount('4')).toBe(0);
    expect(await used()).toBe(15);
  });
});
