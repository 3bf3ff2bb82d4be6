// Outcomes, opens and clicks count once for the contact of their message, and never for a deleted contact.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { intendMessages } from '../../../../src/delivery/ledger/intend/queue-batch.ts';
import type { DeliveryFact } from '../../../../src/delivery/ledger/facts/delivery-fact.ts';
import { recordFacts } from '../../../../src/delivery/ledger/facts/facts.ts';
import { messageClasses } from '../../../../src/delivery/terms/message.ts';
import type { HandOverOutcome } from '../../../../src/delivery/terms/hand-over-outcome.ts';
import { claimBacklog } from '../../../../src/delivery/ledger/claim/claim.ts';
import { outcomeRecord } from '../../../../src/delivery/ledger/record/outcomes.ts';
import { createBatchRecording } from '../../../../src/delivery/ledger/record/record.ts';
import { decideFetches } from '../../../../src/features/tracking/decisions.ts';
import { storeHits } from '../../../../src/features/tracking/hits.ts';
import { openDatabase, type Database } from '../../../../src/platform/db/database.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { createTestTenant, type TestTenant } from '../../../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { testEvents } from '../../../support/events.ts';
import { countUnlockedRows } from '../../../support/lock-order.ts';
import { insertSender, queueEmails } from '../../../support/queued.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';
import { hitOn, targetsOf, writeTrackedMail } from '../../../support/tracking.ts';
import { testKeyring } from '../../../support/webhooks.ts';

const OWNER = 71;
const PROVIDER = 'relay';

let test: TestDatabase;
/** Plans statements as a sender's database does. */
let database: Database;
let tenant: TestTenant;

beforeAll(async () => {
  test = await createTestDatabase();
  database = openDatabase({ url: test.url, poolMax: 6, keyedPlans: true });
});
afterAll(async () => {
  await database.close();
  await test.drop();
});
beforeEach(async () => {
  tenant = await createTestTenant(test.database, 'Acme');
  await insertSender(database, OWNER);
});
afterEach(() =>
  database.pool
    .query(`truncate processes, messages, message_events, message_interactions, send_queue, handovers,
    allowance_buckets, suppressions, contacts, contact_channel_counts, contact_engagement, tracking_fetches, tracking_hits cascade`),
);

const query = <Row extends object>(text: string, values: unknown[] = []) =>
  database.pool.query<Row>(text, values).then((result) => result.rows);

/** Adds the contacts `u0@example.com`, `u1@example.com` and so on. @returns their ids */
async function addContacts(count: number): Promise<number[]> {
  const rows = await query<{ id: number }>(
    `insert into contacts (account_id, brand_id, email, email_key)
     select $1, $2, 'u' || n || '@example.com', 'u' || n || '@example.com' from generate_series(0, $3 - 1) n
     order by n returning id`,
    [tenant.accountId, tenant.brandId, count],
  );
  return rows.map((row) => row.id);
}

const accepted: HandOverOutcome = {
  kind: 'accepted',
  providerMessageId: 'p-1',
  response: '250 queued',
  delivered: false,
};
const hard = { type: 'hard', subtype: 'no_such_mailbox', diagnostic: '550 5.1.1 no such user' } as const;
const bounced: HandOverOutcome = { kind: 'bounced', bounce: hard, response: '550' };

/** Claims and intends the queued messages. @returns the function that records the outcome of the hand-over */
async function intend(outcome: HandOverOutcome, seq = 1) {
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
    provider: PROVIDER,
    keyring: testKeyring,
    claims,
  });
  const outcomes = batch.map((message) => outcomeRecord(message, PROVIDER, outcome));
  const record = createBatchRecording({ pool: database.pool, events: testEvents });
  return () => record([{ owner: OWNER, seq, outcomes }]);
}

/** Queues emails to `u0@example.com` and so on, and records the outcome of their hand-over. */
async function send(count: number, outcome = accepted): Promise<number[]> {
  const ids = await queueEmails(database, tenant, count);
  await (
    await intend(outcome)
  )();
  return ids;
}

function report(
  messageId: number,
  type: DeliveryFact['type'],
  source: DeliveryFact['source'] = { kind: 'callback', provider: PROVIDER },
) {
  const fact: DeliveryFact = {
    accountId: tenant.accountId,
    messageId,
    source,
    type,
    occurredAt: new Date(),
    providerMessageId: 'p-1',
    response: null,
    bounce: type === 'bounced' ? hard : null,
    failure: type === 'failed' ? { code: 'rejected', message: 'dropped' } : null,
    suppresses: false,
  };
  return inTransaction(database.pool, (client) => recordFacts(client, [fact], testEvents));
}

const counts = () =>
  query(
    'select contact_id, channel, sent_count, fail_count from contact_channel_counts order by contact_id, channel',
  );
const engagement = () =>
  query('select contact_id, message_id, kind from contact_engagement order by message_id, kind');
const countsOf = (contactId: number, sent: number, failed: number) => ({
  ...{ contact_id: contactId, channel: 'email', sent_count: sent, fail_count: failed },
});

describe('a message', () => {
  const contactOf = async (id: number | undefined) =>
    (await query<{ contact_id: number | null }>('select contact_id from messages where id = $1', [id]))[0]
      ?.contact_id;

  it('belongs to the contact of the brand that has its address when its outcome is recorded', async () => {
    const other = await createTestTenant(test.database, `Other ${tenant.accountId}`);
    await query('insert into contacts (account_id, brand_id, email, email_key) values ($1, $2, $3, $3)', [
      ...[other.accountId, other.brandId, 'u1@example.com'],
    ]);
    const [ada] = await addContacts(1);
    const [known, foreign, unknown] = await send(3);
    expect([await contactOf(known), await contactOf(foreign), await contactOf(unknown)]).toEqual([
      ada,
      null,
      null,
    ]);
  });

  it('is not looked up among contacts if its account has none', async () => {
    const [id] = await send(1);
    const { rows } = await test.database.pool.query('select has_contacts from accounts where id = $1', [
      tenant.accountId,
    ]);
    expect([rows, await contactOf(id)]).toEqual([[{ has_contacts: false }], null]);
  });
});

describe('an outcome', () => {
  it('counts for the contact of the message, and for no other', async () => {
    const [one, two] = await addContacts(2);
    const ids = await send(3);
    expect(await counts()).toEqual([countsOf(one ?? 0, 1, 0), countsOf(two ?? 0, 1, 0)]);
    expect(await engagement()).toEqual([
      { contact_id: one, message_id: ids[0], kind: 0 },
      { contact_id: two, message_id: ids[1], kind: 0 },
    ]);
    await send(1, bounced);
    expect((await counts())[0]).toEqual(countsOf(one ?? 0, 1, 1));
    expect((await engagement()).length).toBe(2);
  });

  it('counts once, whether it is recorded twice or reported first', async () => {
    const [one = 0] = await addContacts(1);
    const [id = 0] = await queueEmails(database, tenant, 1);
    const record = await intend(accepted);
    await report(id, 'delivered');
    await report(id, 'delivered');
    await record();
    await record();
    expect(await counts()).toEqual([countsOf(one, 1, 0)]);
    expect(await engagement()).toEqual([{ contact_id: one, message_id: id, kind: 0 }]);
  });

  it.each(['bounced', 'failed'] as const)('reported late as %s counts as a failure once', async (type) => {
    const [one = 0] = await addContacts(1);
    const [id = 0] = await send(1);
    await report(id, type);
    await report(id, type);
    expect(await counts()).toEqual([countsOf(one, 1, 1)]);
  });

  it('is recorded without the contact if it was deleted meanwhile', async () => {
    const [one = 0, two = 0] = await addContacts(2);
    const ids = await queueEmails(database, tenant, 2);
    const record = await intend(accepted);
    await query('delete from contacts where id = $1', [one]);
    await record();
    expect(await query('select status from messages')).toEqual([{ status: 'sent' }, { status: 'sent' }]);
    expect(await counts()).toEqual([countsOf(two, 1, 0)]);
    expect(await engagement()).toEqual([{ contact_id: two, message_id: ids[1], kind: 0 }]);
  });

  it('does not wait for a contact that is being deleted', async () => {
    const [one = 0, two = 0] = await addContacts(2);
    await queueEmails(database, tenant, 2);
    const record = await intend(accepted);
    await inTransaction(database.pool, async (client) => {
      await client.query('delete from contacts where id = $1', [one]);
      await record();
    });
    expect(await counts()).toEqual([countsOf(two, 1, 0)]);
  });

  it('locks counts in the order of the contacts, before the outcomes of the account', async () => {
    const ids = await addContacts(6);
    await send(6);
    await queueEmails(database, tenant, 6);
    const record = await intend(accepted, 2);
    // The transaction that has the lock counts its own row.
    const unlocked = await countUnlockedRows(database.pool, {
      lock: 'select 1 from contact_channel_counts where contact_id = $1 for update',
      values: [ids[0]],
      work: record,
      probes: [
        'select 1 from contact_channel_counts for update',
        'select 1 from account_outcomes for update',
      ],
    });
    expect(unlocked[0]).toBe(6);
    expect(unlocked[1]).toBe((await query('select 1 from account_outcomes')).length);
  });
});

it.each(['bounced', 'failed', 'deferred', 'delivered'] as const)(
  'a report of %s stores no text after the contact was deleted and its message cleared',
  async (type) => {
    const [id = 0] = await send(1);
    await query('update messages set to_address = null, to_key = null, response = null where id = $1', [id]);
    const quoted = '550 <u0@example.com> unknown';
    const fact: DeliveryFact = {
      ...{ accountId: tenant.accountId, messageId: id, type, suppresses: false, occurredAt: new Date() },
      source: { kind: 'callback', provider: PROVIDER },
      providerMessageId: 'p-1',
      response: quoted,
      bounce: type === 'bounced' ? { ...hard, diagnostic: quoted } : null,
      failure: type === 'failed' ? { code: 'rejected', message: quoted } : null,
    };
    await inTransaction(database.pool, (client) => recordFacts(client, [fact], testEvents));
    expect(await query(`select 1 from messages m where m::text like '%u0@%'`)).toEqual([]);
    expect(await query(`select 1 from message_events e where e::text like '%u0@%'`)).toEqual([]);
    if (type !== 'deferred') expect(await query('select status from messages')).toEqual([{ status: type }]);
  },
);

describe('an open or click', () => {
  const start = new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000 - 3_600_000);
  const after = (seconds: number) => new Date(start.getTime() + seconds * 1_000);

  const activity = async () =>
    (await query<{ at: Date }>('select last_interacted_at as at from contact_activity')).map(({ at }) =>
      Math.round((at.getTime() - start.getTime()) / 1_000),
    );

  async function decideAll(): Promise<void> {
    while ((await decideFetches({ pool: database.pool, events: testEvents }, after(3_500))).fetches > 0);
  }

  /** @param fetches the link, 0 for the pixel, and the second of each */
  async function fetched(messageId: number, fetches: readonly (readonly [number, number])[]): Promise<void> {
    const targets = targetsOf(tenant, messageId, 5);
    for (const [link, second] of fetches) {
      const target = targets[link];
      if (target) await storeHits(database.pool, [hitOn(target, after(second))]);
    }
    await decideAll();
  }

  /** Writes a mail to `u0@example.com`, and records that it was sent. */
  async function mail(changes = {}): Promise<number> {
    const to = { to_address: 'u0@example.com', to_key: 'u0@example.com' };
    const id = await writeTrackedMail(database, tenant, { ...to, ...changes });
    await report(id, 'accepted', { kind: 'mail' });
    return id;
  }

  it('is stored once for each message and kind', async () => {
    const [one] = await addContacts(1);
    const id = await mail();
    await fetched(id, [
      [0, 5],
      [2, 40],
      [1, 100],
    ]);
    await fetched(id, [
      [0, 300],
      [3, 400],
      [2, 500],
    ]);
    expect(await engagement()).toEqual([
      { contact_id: one, message_id: id, kind: 0 },
      { contact_id: one, message_id: id, kind: 1 },
      { contact_id: one, message_id: id, kind: 2 },
    ]);
    const [click] = await query<{ at: Date }>(
      'select created_at as at from contact_engagement where kind = 2',
    );
    expect(click?.at).toEqual(after(40));
  });

  it('is the contact’s last interaction, which is written at most once a minute', async () => {
    await addContacts(1);
    const id = await mail();
    await fetched(id, [[0, 10]]);
    expect(await activity()).toEqual([10]);
    await fetched(id, [[1, 40]]);
    expect(await activity()).toEqual([10]);
    await fetched(id, [[2, 200]]);
    expect(await activity()).toEqual([200]);
    await fetched(await mail(), [[0, 150]]);
    expect(await activity()).toEqual([200]);
  });

  it('is not stored if the message has no contact or is a test, or the contact was deleted', async () => {
    await fetched(await mail(), [[0, 10]]);
    const [one] = await addContacts(1);
    await fetched(await mail({ test: true, status: 'sent' }), [[0, 10]]);
    const id = await mail();
    await query('delete from contacts where id = $1', [one]);
    await fetched(id, [[0, 10]]);
    expect(await query('select 1 from contact_engagement where kind > 0')).toEqual([]);
    expect(await activity()).toEqual([]);
    expect(await query('select 1 from message_interactions')).toHaveLength(3);
  });
});
