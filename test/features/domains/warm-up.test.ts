// The warm-up of a domain moves to the next volume only after a day with enough mail and few bad reports.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  advanceWarmUps,
  endWarmUp,
  findVerifiedDomain,
  findWarmUp,
  startWarmUp,
} from '../../../src/features/domains/warm-up.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { insertAccount, type QueuedAccount } from '../../support/queued.ts';

const DAY_MS = 86_400_000;
const schedule = [100, 1_000, 5_000];
const began = Date.now();
/** An hour on the nth day after the start, in UTC. */
const day = (n: number) => new Date(Math.floor(began / DAY_MS) * DAY_MS + n * DAY_MS + 3_600_000);

let test: TestDatabase;
let account: QueuedAccount;
let domain = 0;
let name = '';

const query = <Row extends object>(text: string, values: unknown[] = []) =>
  test.database.pool.query<Row>(text, values).then(({ rows }) => rows);
const pool = () => test.database.pool;

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());
beforeEach(async () => {
  account = await insertAccount(test.database);
  name = `new-${account.accountId}.test`;
  const rows = await query<{ id: number }>(
    `insert into domains (account_id, brand_id, name, status, return_path_host, tracking_host)
     values ($1, $2, $3, 'verified', 'r', 't') returning id`,
    [account.accountId, account.brandId, name],
  );
  domain = rows[0]?.id ?? 0;
  await startWarmUp(pool(), domain, schedule);
  await query('update warm_ups set looked_at = $2 where domain_id = $1', [domain, day(0)]);
});

/** A day on which the domain sent emails, some of which were reported. */
async function send(
  n: number,
  used: number,
  reported: { bounced?: number; complained?: number } = {},
  sender = `news@${name}`,
) {
  await query(
    `insert into warm_up_days (domain_id, day, used) values ($1, ($2::timestamptz at time zone 'utc')::date, $3)`,
    [domain, day(n), used],
  );
  for (const [status, count] of Object.entries(reported)) {
    await query(
      `insert into messages (account_id, brand_id, channel, status, from_address, sent_at, created_at, updated_at, bounce)
       select $1, $2, 'email', $3, $4, $5, $5, $5,
         case when $3 = 'bounced' then '{"type": "hard"}'::jsonb end from generate_series(1, $6)`,
      [account.accountId, account.brandId, status, sender, day(n), count],
    );
  }
}

const stepOn = async (n: number) => {
  await advanceWarmUps(pool(), schedule, day(n));
  return (await findWarmUp(pool(), domain))?.step ?? null;
};

describe('the warm-up of a domain', () => {
  it('moves to the next volume after a day that went well, and ends after the last', async () => {
    await send(0, 100);
    expect(await findWarmUp(pool(), domain)).toMatchObject({ step: 1, dailyLimit: 100 });
    expect(await stepOn(0)).toBe(1);
    expect(await stepOn(1)).toBe(2);
    expect(await stepOn(1)).toBe(2);
    await send(1, 900);
    expect(await stepOn(2)).toBe(3);
    expect(await findWarmUp(pool(), domain)).toMatchObject({ step: 3, dailyLimit: 5_000 });
    await send(2, 5_000);
    expect(await stepOn(3)).toBeNull();
  });

  it.each([
    [{ bounced: 1 }, 2],
    [{ bounced: 2 }, 1],
    [{ complained: 1 }, 1],
  ])(
    'keeps its volume after a day with 2 percent hard bounces or 0.1 percent complaints: %j',
    async (reported, step) => {
      await send(0, 100, reported);
      expect(await stepOn(1)).toBe(step);
    },
  );

  it.each([
    ['a name', (domain: string) => `"Ada @ Acme" <news@${domain}>`, 1],
    ['capital letters', (domain: string) => `Ada <News@${domain.toUpperCase()}>`, 1],
    ['another domain', (domain: string) => `"news@${domain}" <news@other.test>`, 2],
  ])('counts the reports of emails whose sender has %s', async (_of, sender, step) => {
    await send(0, 100, { bounced: 2 }, sender(name));
    expect(await stepOn(1)).toBe(step);
  });

  it('counts the reports of emails that were scheduled weeks before, and of no others as old', async () => {
    await send(0, 100, { bounced: 2 });
    await query('update message_ranges set closed_at = $1', [day(-10)]);
    await query('insert into message_ranges (n, opened_at) select max(n) + 1, $1 from message_ranges', [
      day(-10),
    ]);
    await query('update messages set created_at = $1, scheduled_at = $2 where brand_id = $3', [
      ...[day(-20), day(0), account.brandId],
    ]);
    expect(await stepOn(1)).toBe(1);
    await send(1, 100, { bounced: 2 });
    expect(await stepOn(2)).toBe(2);
    await query('delete from message_ranges where n = (select max(n) from message_ranges)');
    await query('update message_ranges set closed_at = null');
  });

  it('keeps its volume after a day with less than half of it', async () => {
    await send(0, 49);
    expect(await stepOn(1)).toBe(1);
    await send(1, 50);
    expect(await stepOn(2)).toBe(2);
  });

  it('evaluates each day once, even after several days or by two workers at once', async () => {
    await send(0, 100);
    await send(1, 1_000);
    await Promise.all([1, 2, 3].map(() => advanceWarmUps(pool(), schedule, day(2))));
    expect((await findWarmUp(pool(), domain))?.step).toBe(3);
  });

  it('does not start again while it is running, and ends when an operator ends it', async () => {
    await send(0, 100);
    await stepOn(1);
    await startWarmUp(pool(), domain, schedule);
    expect((await findWarmUp(pool(), domain))?.step).toBe(2);
    expect(await endWarmUp(pool(), domain)).toBe(true);
    expect(await findWarmUp(pool(), domain)).toBeNull();
    expect(await endWarmUp(pool(), domain)).toBe(false);
  });

  it('requires a verified domain', async () => {
    expect((await findVerifiedDomain(pool(), name.toUpperCase())).id).toBe(domain);
    await query(`update domains set status = 'failed' where id = $1`, [domain]);
    await expect(findVerifiedDomain(pool(), name)).rejects.toMatchObject({ code: 'not_found' });
  });
});
