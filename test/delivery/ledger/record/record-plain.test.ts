// The short record of plain messages has the same effects as the general one.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { BatchRecord } from '../../../../src/delivery/ledger/record/record.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { insertContacts } from '../../../support/contacts.ts';
import { countUnlockedRows } from '../../../support/lock-order.ts';
import { PlainRecords } from '../../../support/plain-records.ts';

let stage: PlainRecords;

beforeAll(async () => {
  stage = await PlainRecords.open();
});
afterAll(() => stage.drop());
beforeEach(() => stage.openAccount());

/** Two batches, of which one has a test; the first has two messages to one recipient. */
async function handOverTwo(): Promise<BatchRecord[]> {
  const batches = [await stage.handOver(3), await stage.handOver(2)];
  await stage.pool.query('update messages set test = true where id = $1', [
    batches[1]?.outcomes[1]?.messageId,
  ]);
  return batches;
}

describe('plain messages that were accepted', () => {
  it.each([
    ['without contacts', false, null],
    ['to contacts', true, null],
    ['whose events webhooks want', false, 'email.sent'],
    ['whose other events a webhook wants', true, 'email.bounced'],
    ['to contacts, whose events webhooks want', true, 'email.sent,email.bounced'],
  ] as const)(
    '%s are recorded with the same effects as by the general record',
    async (_name, contacts, events) => {
      await stage.openAccount({ contacts, events });
      const { isShort, queued } = await stage.recordAndWatch(stage.pool, await handOverTwo());
      expect(isShort).toBe(true);
      const short = await stage.effects();
      expect(short.messages).toHaveLength(5);
      expect(short.stats).toEqual({ sent: 4 });
      expect(short.counts).toMatchObject(
        contacts ? [{ email: 'u0@example.com', sent_count: 2 }, { sent_count: 1 }] : [],
      );
      expect(short.messages.filter(({ contact }) => contact !== null)).toHaveLength(contacts ? 4 : 0);
      const isPublished = events?.includes('sent') === true;
      expect(short.published.map((each) => each.queued)).toEqual(isPublished ? Array(4).fill([true]) : []);
      expect(queued).toEqual(new Map(isPublished ? [['webhook', 4]] : []));

      await stage.openAccount({ contacts, events });
      expect(await stage.recordGenerally(...(await handOverTwo()))).toEqual(queued);
      expect(await stage.effects()).toEqual(short);
    },
  );

  it('keep the contact that they have', async () => {
    await stage.openAccount({ contacts: true });
    const [other] = await insertContacts(stage.pool, stage.account, 1, 'other');
    const batch = await stage.handOver(1);
    await stage.pool.query('update messages set contact_id = $2 where id = $1', [
      batch.outcomes[0]?.messageId,
      other,
    ]);
    expect(await stage.recordPlain(batch)).toBe(true);
    expect((await stage.effects()).counts).toMatchObject([{ email: 'other0@example.com', sent_count: 1 }]);
  });

  it('do not wait for contacts that are being deleted, nor count for them', async () => {
    await stage.openAccount({ contacts: true });
    const batch = await stage.handOver(2);
    await inTransaction(stage.pool, async (client) => {
      await client.query(`delete from contacts where brand_id = $1 and email = 'u0@example.com'`, [
        stage.account.brandId,
      ]);
      expect(await stage.recordPlain(batch)).toBe(true);
    });
    expect(await stage.effects()).toMatchObject({
      messages: [{ status: 'sent', contact: null }, { contact: 'u1@example.com' }],
      engagement: [{ email: 'u1@example.com' }],
      counts: [{ email: 'u1@example.com' }],
      outcomes: [{ attempted: 2 }],
    });
  });

  it('lock the counts of contacts by id, and those of the hour last', async () => {
    await stage.openAccount({ contacts: true });
    await stage.recordPlain(await stage.handOver(2));
    const batch = await stage.handOver(2);
    // The first message goes to the second contact.
    await stage.pool.query(
      `update messages set to_key = case to_key when 'u0@example.com' then 'u1@example.com' else 'u0@example.com' end
       where account_id = $1`,
      [stage.account.accountId],
    );
    const counts = `contact_channel_counts where contact_id in (select id from contacts where brand_id = ${stage.account.brandId})`;
    const unlocked = await countUnlockedRows(stage.pool, {
      lock: `select 1 from contact_channel_counts where contact_id = (select min(id) from contacts where brand_id = $1) for update`,
      values: [stage.account.brandId],
      work: () => stage.recordPlain(batch),
      probes: [
        `select 1 from ${counts} for update`,
        `select 1 from account_outcomes where account_id = ${stage.account.accountId} for update`,
      ],
    });
    expect(unlocked).toEqual([2, 1]);
  });

  it('are counted by account', async () => {
    const mine = await stage.handOver(2);
    const other = stage.account;
    await stage.openAccount();
    const theirs = await stage.handOver(1);
    expect(await stage.recordPlain(theirs, mine)).toBe(true);
    expect((await stage.effects()).outcomes).toMatchObject([{ attempted: 1 }]);
    stage.account = other;
    expect((await stage.effects()).outcomes).toMatchObject([{ attempted: 2 }]);
  });

  it('are locked by id, before their intents', async () => {
    const batch = await stage.handOver(4);
    const first = batch.outcomes[0]?.messageId ?? 0;
    const unlocked = await countUnlockedRows(stage.pool, {
      lock: 'select 1 from messages where id = $1 for update',
      values: [first],
      work: () => stage.recordPlain({ ...batch, outcomes: batch.outcomes.toReversed() }),
      probes: [
        `select 1 from messages where account_id = ${stage.account.accountId} for no key update`,
        `select 1 from handovers where seq = ${stage.seq} for update`,
      ],
    });
    expect(unlocked).toEqual([4, 1]);
  });

  it('are recorded once, although two batches have them', async () => {
    const batch = await stage.handOver(2);
    await stage.record(batch, { ...batch, outcomes: batch.outcomes.slice(1) });
    expect(await stage.effects()).toMatchObject({
      outcomes: [{ attempted: 2 }],
      queue: [],
      intents: [],
    });
  });

  it('are recorded once, although the reply to the first commit was lost', async () => {
    const batch = await stage.handOver(2);
    await stage.record(batch);
    const { events: _, ...once } = await stage.effects();
    await stage.record(batch);
    expect(await stage.effects()).toMatchObject(once);
  });
});
