// Reports count once, in any order, and only from a provider that has had the message.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { intendMessages } from '../../../../src/delivery/ledger/intend/queue-batch.ts';
import type { DeliveryFact } from '../../../../src/delivery/ledger/facts/delivery-fact.ts';
import { recordFacts } from '../../../../src/delivery/ledger/facts/facts.ts';
import { messageClasses } from '../../../../src/delivery/terms/message.ts';
import type { HandOverOutcome } from '../../../../src/delivery/terms/hand-over-outcome.ts';
import { claimBacklog } from '../../../../src/delivery/ledger/claim/claim.ts';
import { outcomeRecord } from '../../../../src/delivery/ledger/record/outcomes.ts';
import { createBatchRecording } from '../../../../src/delivery/ledger/record/record.ts';
import { findMessage, findMessageEvents } from '../../../../src/features/messages/model.ts';
import { presentMessageDetail } from '../../../../src/features/messages/presenter.ts';
import { openDatabase, type Database } from '../../../../src/platform/db/database.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { createTestTenant, type TestTenant } from '../../../support/api.ts';
import { writeCampaign } from '../../../support/campaigns.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { testEvents } from '../../../support/events.ts';
import { countUnlockedRows } from '../../../support/lock-order.ts';
import { insertSender, queueEmails } from '../../../support/queued.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';
import { emailsSent as countEmailsSent } from '../../../support/usage.ts';
import { addWebhook } from '../../../support/webhooks.ts';
import { testKeyring } from '../../../support/webhooks.ts';

const OWNER = 61;
const PROVIDER = 'relay';

let test: TestDatabase;
/** Plans statements as a role's database does. */
let database: Database;
let tenant: TestTenant;

beforeAll(async () => {
  test = await createTestDatabase();
  database = openDatabase({ url: test.url, poolMax: 6 });
});
afterAll(async () => {
  await database.close();
  await test.drop();
});

beforeEach(async () => {
  tenant = await createTestTenant(test.database, 'Acme');
  await insertSender(database, OWNER);
  await addWebhook(test.database, tenant, 'https://hooks.example.test', [
    'email.sent',
    'email.delivered',
    'email.bounced',
    'email.complained',
    'email.failed',
  ]);
});
afterEach(() =>
  database.pool
    .query(`truncate processes, messages, message_events, send_queue, handovers, allowance_buckets, account_months,
    account_outcomes, campaigns, suppressions, webhooks, webhook_deliveries, webhook_queue, events cascade`),
);

const query = <Row extends object>(text: string, values: unknown[] = []) =>
  database.pool.query<Row>(text, values).then((result) => result.rows);

const accepted: HandOverOutcome = {
  kind: 'accepted',
  providerMessageId: 'p-1',
  response: '250 queued',
  delivered: false,
};

/** Claims and intends the queued messages. @returns the function that records the outcome of the hand-over */
async function intend(outcome: HandOverOutcome, provider = PROVIDER, seq = 1) {
  await query('update send_queue set due_at = now(), owner = null');
  const wanted = {
    channel: 'email',
    class: messageClasses.transactional,
    accountId: tenant.accountId,
    owner: OWNER,
    quantum: 100,
  } as const;
  const claims = await claimBacklog(database.pool, wanted, TEST_LIMITS);
  const batch = await intendMessages(database.pool, {
    owner: OWNER,
    seq,
    provider,
    keyring: testKeyring,
    claims,
  });
  if (batch.length === 0) throw new Error('no intent');
  const outcomes = batch.map((message) => outcomeRecord(message, provider, outcome));
  return () =>
    createBatchRecording({ pool: database.pool, events: testEvents })([{ owner: OWNER, seq, outcomes }]);
}

const queueOne = async () => (await queueEmails(database, tenant, 1))[0] ?? 0;

/** Queues a message and records that the provider accepted it. */
async function sendOne(): Promise<number> {
  const id = await queueOne();
  await (
    await intend(accepted)
  )();
  return id;
}

/** Queues a message whose first attempt has an unknown outcome. It waits to be handed over again. */
async function unknownOne(): Promise<number> {
  const id = await queueOne();
  await (
    await intend({ kind: 'unknown', reason: 'time-out' })
  )();
  return id;
}

const hard = { type: 'hard', subtype: 'no_such_mailbox', diagnostic: '550 5.1.1 no such user' } as const;
const soft = { type: 'soft', subtype: 'mailbox_full', diagnostic: '452 4.2.2 full' } as const;

/** Seconds after the test began; facts are not from the future. */
const later = (seconds: number) => new Date(Date.now() + seconds * 1_000);

function fact(
  messageId: number,
  type: DeliveryFact['type'],
  given: Partial<DeliveryFact> = {},
): DeliveryFact {
  return {
    accountId: tenant.accountId,
    messageId,
    source: { kind: 'callback', provider: PROVIDER },
    type,
    occurredAt: new Date(),
    providerMessageId: 'p-1',
    response: null,
    bounce: type === 'bounced' ? hard : null,
    failure: type === 'failed' ? { code: 'rejected', message: 'dropped' } : null,
    suppresses: type === 'bounced' || type === 'complained',
    ...given,
  };
}

const record = (...facts: DeliveryFact[]) =>
  inTransaction(database.pool, async (client) => (await recordFacts(client, facts, testEvents)).recorded);

const published = async () =>
  (await query<{ type: string }>('select type from events')).map(({ type }) => type).sort();

const emailsSent = () => countEmailsSent(database.pool, tenant.accountId);

/** What a client can see of a message, without times. */
async function outcome(id: number) {
  const [row] = await query(
    `select m.status, m.provider, m.provider_message_id, m.failure, m.bounce, m.sent_at is not null as sent,
       m.delivered_at is not null as delivered, exists (select 1 from send_queue where message_id = m.id) as queued
     from messages m where id = $1`,
    [id],
  );
  return { ...row, published: await published(), counted: await emailsSent() };
}

const known = {
  provider: PROVIDER,
  provider_message_id: 'p-1',
  failure: null,
  bounce: null,
  sent: true,
  queued: false,
};

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length <= 1) return [[...items]];
  return items.flatMap((item, index) =>
    permutations(items.filter((_other, other) => other !== index)).map((rest) => [item, ...rest]),
  );
}

describe('a late report', () => {
  it('settles a message whose outcome was unknown', async () => {
    const id = await unknownOne();
    expect(await outcome(id)).toMatchObject({ status: 'unknown', queued: true, counted: 0 });
    expect(await record(fact(id, 'delivered'))).toBe(1);
    expect(await outcome(id)).toEqual({
      ...known,
      status: 'delivered',
      delivered: true,
      published: ['email.delivered', 'email.sent'],
      counted: 1,
    });
    expect(await query('select sum(used)::int as used from allowance_buckets')).toEqual([{ used: 1 }]);
  });

  it('changes nothing and publishes nothing when it arrives again', async () => {
    const id = await sendOne();
    const facts = [
      fact(id, 'delivered', { response: '250 ok' }),
      fact(id, 'bounced', { occurredAt: later(0) }),
      fact(id, 'complained'),
    ];
    expect(await record(...facts)).toBe(3);
    const rows = () => query(`select m.*, (select count(*) from message_events) as events from messages m`);
    const before = await rows();
    const seen = await outcome(id);
    await query('update suppressions set released_at = now()');
    expect(await record(...facts, ...facts)).toBe(0);
    for (const each of facts) expect(await record(each)).toBe(0);
    expect(await rows()).toEqual(before);
    expect(await outcome(id)).toEqual(seen);
    expect(await query('select 1 from suppressions where released_at is null')).toEqual([]);
  });

  it('publishes once if two requests bring it at the same time', async () => {
    const id = await unknownOne();
    const counts = await Promise.all(Array.from({ length: 6 }, () => record(fact(id, 'delivered'))));
    expect(counts.sort()).toEqual([0, 0, 0, 0, 0, 1]);
    expect(await outcome(id)).toMatchObject({ published: ['email.delivered', 'email.sent'], counted: 1 });
  });

  it('returns the allowance of a message that failed, and keeps that of one that bounced', async () => {
    const failedId = await unknownOne();
    await record(fact(failedId, 'failed'));
    expect(await outcome(failedId)).toMatchObject({
      status: 'failed',
      failure: { code: 'rejected', message: 'dropped' },
      queued: false,
      published: ['email.failed', 'email.sent'],
    });
    expect(await query('select sum(used)::int as used from allowance_buckets')).toEqual([{ used: 0 }]);
    const bouncedId = await unknownOne();
    await record(fact(bouncedId, 'bounced'));
    expect(await query('select sum(used)::int as used from allowance_buckets')).toEqual([{ used: 1 }]);
  });

  it('only adds an event if the provider defers the message', async () => {
    const id = await unknownOne();
    const before = await outcome(id);
    await record(fact(id, 'deferred', { response: '451 later' }));
    expect(await outcome(id)).toEqual(before);
    expect(await query(`select data from message_events where type = 'deferred'`)).toEqual([
      { data: { provider: PROVIDER, response: '451 later' } },
    ]);
  });

  it('shows the response of the recipient’s server with the delivery', async () => {
    const id = await sendOne();
    await record(fact(id, 'delivered', { response: '250 2.0.0 inbox' }));
    const row = await findMessage(database.pool, tenant as never, id);
    const { events } = presentMessageDetail(row as never, await findMessageEvents(database.pool, id));
    expect(events.map(({ type, attempt, data }) => [type, attempt, data])).toEqual([
      ['sent', 1, { provider: PROVIDER, response: '250 queued' }],
      ['delivered', 1, { provider: PROVIDER, response: '250 2.0.0 inbox' }],
    ]);
  });

  it('does not show the response to the hand-over as the response to the delivery', async () => {
    const id = await sendOne();
    await record(fact(id, 'delivered'));
    const row = await findMessage(database.pool, tenant as never, id);
    const { events } = presentMessageDetail(row as never, await findMessageEvents(database.pool, id));
    expect(events.map(({ type, data }) => [type, data])).toEqual([
      ['sent', { provider: PROVIDER, response: '250 queued' }],
      ['delivered', { provider: PROVIDER }],
    ]);
  });

  it('counts mail of campaigns, but publishes no events for it', async () => {
    const id = await unknownOne();
    await query('update messages set class = $1', [messageClasses.campaign]);
    await record(fact(id, 'delivered'));
    expect(await outcome(id)).toMatchObject({ status: 'delivered', published: [], counted: 1 });
  });

  it('is recorded even if its texts and its time cannot be stored', async () => {
    const id = await sendOne();
    const bounce = { ...hard, diagnostic: `\0\ud800${'x'.repeat(900)}` };
    await record(fact(id, 'bounced', { bounce, response: '\0', occurredAt: new Date(Number.NaN) }));
    const [row] = await query<{ bounce: typeof hard }>('select bounce from messages');
    expect(row?.bounce.diagnostic).toMatch(/^\ufffdx{498}$/);
  });

  it('locks messages by id before queue rows', async () => {
    const ids = await queueEmails(database, tenant, 5);
    await (
      await intend({ kind: 'unknown', reason: 'time-out' })
    )();
    const [unlockedMessages, unlockedRows] = await countUnlockedRows(database.pool, {
      lock: 'select 1 from messages where id = $1 for update',
      values: [ids[0]],
      work: () => record(...ids.toReversed().map((id) => fact(id, 'delivered'))),
      probes: ['select 1 from messages for no key update', 'select 1 from send_queue for update'],
    });
    expect([unlockedMessages, unlockedRows]).toEqual([5, 5]);
  });
});

describe('reports about messages that give back their price', () => {
  /** Two messages that wait after an unknown outcome, with prices, in the block of a campaign. */
  async function waitingInBlock(): Promise<number[]> {
    const ids = [await unknownOne(), await unknownOne()];
    const { campaignId } = await writeCampaign(database, tenant, { recipients: 1, prefix: `b${ids[0]}-` });
    await query(
      `with month as (
         insert into account_months (account_id, month, email_units, spent_millicents)
         values ($1, current_month(), 2, 2000)
       ), hours as (
         insert into account_outcomes (account_id, hour, attempted, hard_bounces, complaints)
         select $1, date_trunc('hour', now(), 'UTC') + make_interval(hours => n), 0, 0, 0 from generate_series(0, 1) n
       ), block as (
         update campaign_blocks set first_id = $3, last_id = $4 where campaign_id = $2
       ), priced as (
         update send_queue set price_month = current_month(), price_millicents = 1000, price_units = 1
         where account_id = $1
       ) update messages set campaign_id = $2 where id between $3 and $4`,
      [tenant.accountId, campaignId, ...ids],
    );
    return ids;
  }

  it.each(['account_outcomes', 'campaign_blocks'])(
    'lock %s before months, as all others do',
    async (table) => {
      const [failedId = 0, sentId = 0] = await waitingInBlock();
      const unlocked = await countUnlockedRows(database.pool, {
        lock: `select 1 from ${table} where account_id = $1 for update`,
        values: [tenant.accountId],
        work: () => record(fact(failedId, 'failed'), fact(sentId, 'delivered')),
        probes: [`select 1 from account_months where account_id = ${tenant.accountId} for update`],
      });
      expect(unlocked).toEqual([1]);
      expect(
        await query('select email_units as emails, spent_millicents as spent from account_months'),
      ).toEqual([{ emails: 1, spent: 1000 }]);
    },
  );
});

describe('the order of reports and our own record', () => {
  const cases: [string, DeliveryFact['type'][], object][] = [
    [
      'delivered',
      ['accepted', 'delivered'],
      { status: 'delivered', published: ['email.delivered', 'email.sent'] },
    ],
    [
      'complained',
      ['delivered', 'complained'],
      { status: 'complained', published: ['email.complained', 'email.delivered', 'email.sent'] },
    ],
    [
      'bounced',
      ['delivered', 'bounced'],
      { status: 'bounced', published: ['email.bounced', 'email.delivered', 'email.sent'] },
    ],
    ['failed', ['failed'], { status: 'failed', published: ['email.failed', 'email.sent'] }],
  ];
  it.each(cases)('does not matter: %s', async (_name, types, expected) => {
    const orders = permutations(['own', ...types]);
    for (const [n, order] of orders.entries()) {
      const counted = Number(await emailsSent());
      const id = await queueOne();
      const own = await intend(accepted, PROVIDER, n + 1);
      for (const step of order) {
        if (step === 'own') await own();
        // Each happens a second after the one before it, in the past.
        else {
          const type = step as DeliveryFact['type'];
          const occurredAt = later(types.indexOf(type) - types.length);
          await query(`update messages set created_at = now() - interval '1 minute' where id = $1`, [id]);
          await record(fact(id, type, { occurredAt }));
        }
      }
      expect([order, await outcome(id)]).toEqual([
        order,
        expect.objectContaining({
          ...expected,
          sent: true,
          queued: false,
          provider: PROVIDER,
          counted: counted + 1,
        }),
      ]);
      await query('truncate events, webhook_deliveries, webhook_queue cascade');
      await query('update suppressions set released_at = now()');
    }
  });

  it('of a delivery and a soft bounce does not matter', async () => {
    for (const order of permutations(['delivered', 'bounced'] as const)) {
      const id = await sendOne();
      for (const type of order) await record(fact(id, type, { bounce: type === 'bounced' ? soft : null }));
      expect(await outcome(id)).toMatchObject({ status: 'delivered' });
    }
  });

  it('does not requeue a message that a report has settled', async () => {
    const id = await queueOne();
    const own = await intend({ kind: 'unknown', reason: 'time-out' });
    await record(fact(id, 'delivered'));
    const before = await outcome(id);
    await own();
    expect(await outcome(id)).toEqual(before);
  });

  it('does not publish email.sent again if the hand-over shows the delivery', async () => {
    const id = await queueOne();
    const own = await intend({ ...accepted, delivered: true });
    await record(fact(id, 'accepted'));
    await own();
    expect(await outcome(id)).toMatchObject({
      status: 'delivered',
      published: ['email.delivered', 'email.sent'],
      counted: 1,
    });
  });

  it('does not let a refusal of a repeated hand-over replace what a report has shown', async () => {
    const id = await unknownOne();
    const second = await intend({ kind: 'bounced', bounce: hard, response: '550 no' }, PROVIDER, 2);
    await record(fact(id, 'delivered'));
    await second();
    expect(await outcome(id)).toMatchObject({ status: 'delivered', bounce: null });
    expect(await query('select 1 from suppressions')).toEqual([]);
  });
});

describe('a bounce', () => {
  it('that is hard suppresses the address, even after a soft one or a complaint', async () => {
    const id = await sendOne();
    await record(fact(id, 'bounced', { bounce: soft, suppresses: false }));
    await record(fact(id, 'complained', { suppresses: false }));
    expect(await query('select 1 from suppressions')).toEqual([]);
    await record(fact(id, 'bounced'));
    expect(await query('select address_key, reason, source_provider, diagnostic from suppressions')).toEqual([
      {
        address_key: 'u0@example.com',
        reason: 'hard_bounce',
        source_provider: PROVIDER,
        diagnostic: hard.diagnostic,
      },
    ]);
    expect(await outcome(id)).toMatchObject({
      status: 'complained',
      published: ['email.bounced', 'email.bounced', 'email.complained', 'email.sent'],
    });
  });

  it('counts in the rates once for each address, and again after its suppression has ended', async () => {
    const counted = () =>
      query('select hard_bounces, complaints from account_outcomes where account_id = $1', [
        tenant.accountId,
      ]);
    const ids = [await sendOne(), await sendOne(), await sendOne(), await sendOne()];
    await record(...ids.slice(0, 2).map((id) => fact(id, 'complained')));
    await record(fact(ids[2] ?? 0, 'complained'));
    await record(fact(ids[2] ?? 0, 'bounced'));
    expect(await counted()).toEqual([{ hard_bounces: 0, complaints: 1 }]);
    await query('update suppressions set released_at = now()');
    await record(...ids.map((id) => fact(id, 'bounced')));
    expect(await counted()).toEqual([{ hard_bounces: 1, complaints: 1 }]);
  });

  it("at hand-over does not count against the account if the address is on the provider's list", async () => {
    await queueOne();
    const bounce = { ...hard, subtype: 'provider_suppressed' } as const;
    const recordBounce = await intend({ kind: 'bounced', bounce, response: '406 inactive' });
    await recordBounce();
    expect(await query('select status from messages')).toEqual([{ status: 'bounced' }]);
    expect(await query('select 1 from suppressions')).toEqual([]);
    const counted = query('select hard_bounces from account_outcomes where account_id = $1', [
      tenant.accountId,
    ]);
    expect(await counted).toEqual([{ hard_bounces: 0 }]);
  });

  it('of a message that failed only adds an event', async () => {
    const id = await unknownOne();
    await record(fact(id, 'failed'));
    const before = await outcome(id);
    expect(await record(fact(id, 'bounced'))).toBe(1);
    expect(await outcome(id)).toEqual(before);
    expect(await query('select 1 from suppressions')).toEqual([]);
    expect(
      await query(`select data -> 'bounce' as bounce from message_events where type = 'bounced'`),
    ).toEqual([{ bounce: hard }]);
  });

  it('does not suppress if the report is not allowed to', async () => {
    await record(fact(await sendOne(), 'bounced', { suppresses: false }));
    expect(await query('select 1 from suppressions')).toEqual([]);
  });
});

describe('a report of an earlier provider of the message', () => {
  it('settles a message that waits for the next provider', async () => {
    const id = await unknownOne();
    await (
      await intend({ kind: 'unknown', reason: 'time-out' }, 'next', 2)
    )();
    expect(await record(fact(id, 'delivered'))).toBe(1);
    expect(await outcome(id)).toMatchObject({ ...known, status: 'delivered', counted: 1 });
    expect(await query('select sent_attempt from messages')).toEqual([{ sent_attempt: 1 }]);
  });

  it('counts even after the next provider accepted the message', async () => {
    const id = await unknownOne();
    await (
      await intend(accepted, 'next', 2)
    )();
    expect(await record(fact(id, 'bounced'))).toBe(1);
    expect(await outcome(id)).toMatchObject({ status: 'bounced', provider: 'next', counted: 1 });
    expect(
      await query(
        `select attempt, data ->> 'provider' as provider from message_events where type = 'bounced'`,
      ),
    ).toEqual([{ attempt: 1, provider: PROVIDER }]);
    expect(await record(fact(id, 'complained', { source: { kind: 'callback', provider: 'other' } }))).toBe(0);
  });
});

describe('a report is not believed', () => {
  const ignored = async (id: number, given: Partial<DeliveryFact>) => {
    const before = await outcome(id);
    for (const type of ['accepted', 'delivered', 'deferred', 'bounced', 'complained', 'failed'] as const) {
      expect(await record(fact(id, type, given))).toBe(0);
    }
    expect(await outcome(id)).toEqual(before);
    expect(await query('select 1 from suppressions')).toEqual([]);
  };
  const other = { kind: 'callback', provider: 'other' } as const;

  it('if its provider does not have the message', async () => {
    await ignored(await sendOne(), { source: other });
    await ignored(await unknownOne(), { source: other });
    await ignored(await queueOne(), {});
  });

  it('if another provider has the open hand-over', async () => {
    const id = await queueOne();
    await intend(accepted, 'another');
    await ignored(id, {});
    expect(await record(fact(id, 'delivered', { source: { kind: 'callback', provider: 'another' } }))).toBe(
      1,
    );
  });

  it('if the message belongs to another account, does not exist, or was a test', async () => {
    const id = await sendOne();
    await ignored(id, { accountId: tenant.accountId + 1 });
    expect(await record(fact(id + 1, 'delivered'))).toBe(0);
    await query('update messages set test = true');
    await ignored(id, {});
  });

  it.each(['skipped', 'canceled'])('if the message is %s', async (status) => {
    const id = await sendOne();
    await query('update messages set status = $1', [status]);
    await ignored(id, { source: { kind: 'mail' } });
  });
});
