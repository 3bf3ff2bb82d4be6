// The warm-up and pace of a domain hold only campaigns and flows, and count transactional mail too.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type MessageClass, messageClasses } from '../../../../src/delivery/terms/message.ts';
import { claimBacklog, releaseClaims } from '../../../../src/delivery/ledger/claim/claim.ts';
import type { MessageSource } from '../../../../src/delivery/ledger/accept/new-message.ts';
import { readDeliveryStatus } from '../../../../src/features/delivery-status/service.ts';
import { claimBlock } from '../../../../src/delivery/ledger/blocks/claim-blocks.ts';
import { startWarmUp } from '../../../../src/features/domains/warm-up.ts';
import { writeCampaign } from '../../../support/campaigns.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { insertAccount, insertSender, queueEmails, type QueuedAccount } from '../../../support/queued.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';

const OWNER = 90;
const { transactional, flow, campaign } = messageClasses;
const sources: Record<MessageClass, MessageSource> = {
  [transactional]: { class: transactional },
  [flow]: { class: flow, flow_id: 1 },
  [campaign]: { class: campaign, campaign_id: 1 },
};
const actor = { kind: 'api_key', id: 1, test: false } as const;

let test: TestDatabase;
let account: QueuedAccount;

const query = <Row extends object>(text: string, values: unknown[] = []) =>
  test.database.pool.query<Row>(text, values).then(({ rows }) => rows);

beforeAll(async () => {
  test = await createTestDatabase();
  await insertSender(test.database, OWNER);
});
afterAll(() => test.drop());
beforeEach(async () => {
  account = await insertAccount(test.database);
});

async function addDomain(name: string): Promise<number> {
  const rows = await query<{ id: number }>(
    `insert into domains (account_id, brand_id, name, status, return_path_host, tracking_host)
     values ($1, $2, $3, 'verified', 'r', 't') returning id`,
    [account.accountId, account.brandId, `${name}-${account.accountId}.test`],
  );
  return rows[0]?.id ?? 0;
}

/** Queues emails of a domain. */
async function queue(domainId: number, count: number, given: MessageClass): Promise<number[]> {
  const source = sources[given];
  const ids = await queueEmails(test.database, account, count, { source });
  await query('update send_queue set domain_id = $2 where message_id = any($1)', [ids, domainId]);
  return ids;
}

async function claim(given: MessageClass, settings: Partial<typeof TEST_LIMITS> = {}) {
  const request = { channel: 'email', class: given, accountId: account.accountId, owner: OWNER } as const;
  return claimBacklog(test.database.pool, { ...request, quantum: 1_000 }, { ...TEST_LIMITS, ...settings });
}

const holds = () =>
  query<{ reason: string; count: number }>(
    `select hold ->> 'reason' as reason, count(*)::int as count from messages
     where account_id = $1 and status = 'held' group by 1 order by 1`,
    [account.accountId],
  );

const status = (settings: Partial<typeof TEST_LIMITS> = {}) =>
  readDeliveryStatus(
    test.database.pool,
    { ...account, actor, role: 'admin' },
    { ...TEST_LIMITS, ...settings },
    'mail.test',
  );

const useAsSender = (domainId: number) =>
  query(
    `update accounts set email_from_email = 'news@' || (select name from domains where id = $2) where id = $1`,
    [account.accountId, domainId],
  );

describe('the warm-up of a domain', () => {
  it('lets campaigns and flows send the volume of the day, and holds further messages until tomorrow (UTC)', async () => {
    const domain = await addDomain('new');
    await startWarmUp(test.database.pool, domain, [5, 10]);
    await queue(domain, 4, campaign);
    await queue(domain, 4, flow);
    expect(await claim(flow)).toHaveLength(4);
    expect(await claim(campaign)).toHaveLength(1);
    expect(await holds()).toEqual([{ reason: 'warm_up', count: 3 }]);
    expect(
      await query(
        `select distinct (m.hold ->> 'until')::timestamptz = q.due_at as same, not q.held as single,
           q.due_at = ((now() at time zone 'utc')::date + 1)::timestamp at time zone 'utc' as tomorrow
         from messages m join send_queue q on q.message_id = m.id where m.account_id = $1 and m.status = 'held'`,
        [account.accountId],
      ),
    ).toEqual([{ same: true, single: true, tomorrow: true }]);
  });

  it('counts transactional messages but never holds them', async () => {
    const domain = await addDomain('new');
    await startWarmUp(test.database.pool, domain, [5]);
    await queue(domain, 8, transactional);
    await queue(domain, 1, campaign);
    expect(await claim(transactional)).toHaveLength(8);
    expect(await claim(campaign)).toEqual([]);
    expect(await holds()).toEqual([{ reason: 'warm_up', count: 1 }]);
  });

  it('does not affect other domains, and takes no places in the allowance for what it holds', async () => {
    const [fresh, known] = [await addDomain('new'), await addDomain('known')];
    await query('update accounts set allowance_per_day = 5 where id = $1', [account.accountId]);
    await startWarmUp(test.database.pool, fresh, [2]);
    await queue(fresh, 10, campaign);
    await queue(known, 3, campaign);
    expect(await claim(campaign)).toHaveLength(5);
    expect(await holds()).toEqual([{ reason: 'warm_up', count: 8 }]);
  });

  it('counts a message once, even if it is claimed again', async () => {
    const domain = await addDomain('new');
    await startWarmUp(test.database.pool, domain, [3]);
    await queue(domain, 3, campaign);
    await releaseClaims(test.database.pool, OWNER, await claim(campaign));
    expect(await claim(campaign)).toHaveLength(3);
    expect(await query('select used from warm_up_days where domain_id = $1', [domain])).toEqual([
      { used: 3 },
    ]);
  });

  it("appears in the delivery status as the capacity of the sender's domain", async () => {
    const domain = await addDomain('new');
    await useAsSender(domain);
    const name = `new-${account.accountId}.test`;
    expect((await status()).brand_subdomain).toMatchObject({
      name,
      limited: false,
      limit: null,
      remaining: null,
    });
    await startWarmUp(test.database.pool, domain, [3]);
    await queue(domain, 4, campaign);
    await claim(campaign);
    const found = await status();
    expect(found).toMatchObject({ state: 'limited', reason: 'warm_up' });
    expect(found.brand_subdomain).toMatchObject({ name, limited: true, limit: 3, used: 3, remaining: 0 });
    expect(new Date(found.brand_subdomain.resets_at ?? 0).getTime()).toBeGreaterThan(Date.now());
  });
});

/** Claims one block of the account's campaigns. */
async function claimOne(settings: Partial<typeof TEST_LIMITS> = {}): Promise<number> {
  const request = { channel: 'email', accountId: account.accountId, providerId: 0, owner: OWNER } as const;
  const { claims } = await claimBlock(
    test.database.pool,
    { ...request, messages: 1_000 },
    { ...TEST_LIMITS, ...settings },
  );
  return claims.length;
}

const blocks = () =>
  query<{ size: number; hold_reason: string | null; tomorrow: boolean }>(
    `select size, hold_reason, due_at = ((now() at time zone 'utc')::date + 1)::timestamp at time zone 'utc' as tomorrow
     from campaign_blocks where account_id = $1 order by first_id`,
    [account.accountId],
  );

describe('the blocks of a campaign', () => {
  it('send the volume of the day, and the rest waits for the next day', async () => {
    const domain = await addDomain('new');
    await startWarmUp(test.database.pool, domain, [15]);
    await writeCampaign(test.database, account, { recipients: 30, blockSize: 10, domainId: domain });
    expect([await claimOne(), await claimOne(), await claimOne()]).toEqual([10, 5, 0]);
    expect(await blocks()).toEqual([
      { size: 10, hold_reason: null, tomorrow: false },
      { size: 5, hold_reason: null, tomorrow: false },
      { size: 5, hold_reason: 'warm_up', tomorrow: true },
      { size: 10, hold_reason: 'warm_up', tomorrow: true },
    ]);
    expect(await query('select used from warm_up_days where domain_id = $1', [domain])).toEqual([
      { used: 15 },
    ]);
  });

  it('of other domains are not held by the warm-up or the pace of one', async () => {
    const [fresh, known] = [await addDomain('new'), await addDomain('known')];
    await startWarmUp(test.database.pool, fresh, [1]);
    await query('insert into domain_paces (domain_id, account_id, per_minute) values ($1, $2, 1)', [
      fresh,
      account.accountId,
    ]);
    await writeCampaign(test.database, account, { recipients: 10, domainId: known });
    expect(await claimOne()).toBe(10);
    expect(await query('select 1 from warm_up_days where domain_id = $1', [fresh])).toEqual([]);
  });

  it('keep the pace of the domain', async () => {
    const domain = await addDomain('even');
    await query(
      `insert into domain_paces (domain_id, account_id, minute) values ($1, $2, now() + interval '1 hour')`,
      [domain, account.accountId],
    );
    await writeCampaign(test.database, account, { recipients: 30, blockSize: 20, domainId: domain });
    expect(await claimOne({ pacing_per_minute: 12 })).toBe(12);
    await query(`update domain_paces set minute = now() + interval '1 hour' where domain_id = $1`, [domain]);
    expect(await claimOne({ pacing_per_minute: 12 })).toBe(0);
    expect((await blocks()).map(({ size, hold_reason: reason }) => [size, reason])).toEqual([
      [12, null],
      [8, 'pacing'],
      [10, 'pacing'],
    ]);
  });
});

describe('the pace of a domain', () => {
  /** A minute that does not end during the test, whatever the clock shows. */
  const stopClock = (domain: number) =>
    query(`update domain_paces set minute = now() + interval '1 hour' where domain_id = $1`, [domain]);

  const setPace = (domain: number, perMinute: number | null) =>
    query(
      `insert into domain_paces (domain_id, account_id, per_minute, minute) values ($1, $2, $3, now() + interval '1 hour')`,
      [domain, account.accountId, perMinute],
    );

  it('lets as many messages go as fit into the minute, and holds each of the others until its own minute', async () => {
    const domain = await addDomain('even');
    await setPace(domain, 10);
    await queue(domain, 35, campaign);
    expect(await claim(campaign)).toHaveLength(10);
    expect(
      await query<{ count: number }>(
        `select count(*)::int as count from send_queue where account_id = $1 and owner is null
         group by due_at order by due_at`,
        [account.accountId],
      ),
    ).toEqual([{ count: 10 }, { count: 10 }, { count: 5 }]);
    expect(await holds()).toEqual([{ reason: 'pacing', count: 25 }]);
  });

  it('counts what was claimed in the minute, including transactional messages, which it never holds', async () => {
    const domain = await addDomain('even');
    await setPace(domain, 10);
    await queue(domain, 12, transactional);
    await queue(domain, 2, flow);
    expect(await claim(transactional)).toHaveLength(12);
    await stopClock(domain);
    expect(await claim(flow)).toEqual([]);
  });

  it('is PACING_PER_MINUTE unless the domain has its own', async () => {
    const [other, own, fast] = [await addDomain('other'), await addDomain('own'), await addDomain('fast')];
    await setPace(own, 7);
    await setPace(fast, 0);
    for (const domain of [other, own, fast]) await queue(domain, 20, campaign);
    expect(await claim(campaign, { pacing_per_minute: 5 })).toHaveLength(5 + 7 + 20);
    await useAsSender(other);
    expect((await status({ pacing_per_minute: 5 })).pacing).toMatchObject({ limited: true, per_minute: 5 });
    await useAsSender(fast);
    expect((await status({ pacing_per_minute: 5 })).pacing).toMatchObject({
      limited: false,
      per_minute: null,
    });
  });

  it('writes nothing for domains without a pace', async () => {
    const domain = await addDomain('none');
    await queue(domain, 3, campaign);
    expect(await claim(campaign)).toHaveLength(3);
    expect(await query('select 1 from domain_paces where domain_id = $1', [domain])).toEqual([]);
    expect(await query('select 1 from warm_up_days where domain_id = $1', [domain])).toEqual([]);
  });
});
