// The usage of a month equals a recount of its messages, after any outcomes, reports and crashes.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { requeueUnknown } from '../../../../src/delivery/ledger/blocks/campaign-blocks.ts';
import { lockCampaignForChange } from '../../../../src/delivery/ledger/ownership/campaign-lock.ts';
import { cancelMessages } from '../../../../src/delivery/ledger/cancel/cancel.ts';
import { countAi, foldUsage, usageSql } from '../../../../src/delivery/ledger/money/usage.ts';
import type { Database } from '../../../../src/platform/db/database.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { writeCampaign, type WrittenCampaign } from '../../../support/campaigns.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import {
  type Batch,
  createOutcomes,
  type OutcomeName,
  outcomeNames,
  outcomes,
  type ReportName,
} from '../../../support/outcomes.ts';
import { insertAccount, insertSender, queueEmails, type QueuedAccount } from '../../../support/queued.ts';
import { countedUsage, recountedUsage } from '../../../support/usage.ts';

const OWNER = 83;

let test: TestDatabase;
/** Plans statements as a sender's database does. */
let database: Database;
let account: QueuedAccount;
let sender: ReturnType<typeof createOutcomes>;
let prefix = 0;

beforeAll(async () => {
  test = await createTestDatabase({ keyedPlans: true });
  ({ database } = test);
  await insertSender(database, OWNER);
  sender = createOutcomes(database, OWNER);
});
afterAll(() => test.drop());
beforeEach(async () => {
  account = await insertAccount(database);
});

const query = <Row extends object>(text: string, values: unknown[] = []) =>
  database.pool.query<Row>(text, values).then(({ rows }) => rows);

const report = (messageIds: readonly number[], name: ReportName) =>
  sender.report(
    account,
    messageIds.map((messageId) => ({ messageId, name })),
  );

const counted = () => countedUsage(database.pool, account.accountId);
const emails = async () => (await counted()).reduce((sum, { email }) => sum + email, 0);

/** Hands the queued transactional messages over once. */
const send = (...given: OutcomeName[]) =>
  sender.send(account, 'transactional', ...(given.length === 0 ? (['accepted'] as const) : given));

describe('the usage of a month', () => {
  it.each<[OutcomeName, number]>([
    ['accepted', 1],
    ['delivered', 1],
    ['unknown', 1],
    ['deferred', 0],
    ['refused', 0],
    ['bounced', 0],
    ['lost', 0],
  ])('counts a message whose outcome is %s as %d', async (outcome, count) => {
    await queueEmails(database, account, 1);
    await send(outcome);
    expect(await emails()).toBe(count);
  });

  it.each<[OutcomeName, number]>([
    ['accepted', 1],
    ['unknown', 1],
    ['deferred', 1],
    ['refused', 0],
    ['bounced', 0],
  ])('counts a message that was unknown and is then %s as %d', async (outcome, count) => {
    await queueEmails(database, account, 1);
    await send('unknown');
    await send(outcome);
    expect(await emails()).toBe(count);
    expect(await counted()).toEqual(await recountedUsage(database.pool, account.accountId));
  });

  it('counts an unknown message in the month of its first attempt, even if it is sent or refused later', async () => {
    const ids = await queueEmails(database, account, 3);
    await send('unknown');
    await query(`update messages set unknown_at = unknown_at - interval '1 month' where id = any($1)`, [ids]);
    await query(`update usage_changes set month = (month - interval '1 month')::date where account_id = $1`, [
      account.accountId,
    ]);
    const [month] = await counted();
    await send('accepted', 'refused', 'deferred');
    expect(await counted()).toEqual([{ ...month, email: 2 }]);
  });

  it('stops counting an unknown message only after a report that it was never sent', async () => {
    const ids = await queueEmails(database, account, 2);
    await send('unknown', 'accepted');
    await report(ids, 'failed');
    expect(await emails()).toBe(1);
    await report(ids, 'complained');
    expect(await emails()).toBe(1);
    expect(await counted()).toEqual(await recountedUsage(database.pool, account.accountId));
  });

  it('counts SMS by segments', async () => {
    const ids = await queueEmails(database, account, 2);
    await query(
      `update messages set channel = 'sms', segments = case when id = $2 then 3 end where id = any($1)`,
      [ids, ids[0]],
    );
    await send();
    expect(await counted()).toMatchObject([{ email: 0, sms: 4 }]);
    await foldUsage(database.pool);
    const [usage] = await query(
      `select u.* from accounts a cross join lateral (${usageSql('a')}) u where a.id = $1`,
      [account.accountId],
    );
    expect(usage).toMatchObject({ email_used: 0, sms_used: 4, email_sent: 0, sms_sent: 2 });
  });

  it('counts template tests by SMS, which are charged', async () => {
    const ids = await queueEmails(database, account, 1);
    await query(`update messages set test = true, channel = 'sms', segments = 2 where id = any($1)`, [ids]);
    await send();
    expect(await counted()).toMatchObject([{ email: 0, sms: 2 }]);
  });

  it('counts neither other test messages nor those of the service itself', async () => {
    const ids = await queueEmails(database, account, 1);
    await query('update messages set test = true where id = any($1)', [ids]);
    await send('unknown');
    expect(await counted()).toEqual([]);
    await countAi(database.pool, 0);
    while (await foldUsage(database.pool));
    expect(await query('select 1 from account_usage where account_id = 0')).toEqual([]);
  });

  it('locks nothing that another sender of the account needs', async () => {
    await queueEmails(database, account, 2);
    const batch = await sender.intend(account, 'transactional');
    await inTransaction(database.pool, async (trx) => {
      await trx.query('select 1 from account_counters for update');
      await trx.query('select 1 from account_usage for update');
      if (batch) await sender.record(batch(() => outcomes.accepted));
    });
    expect(await emails()).toBe(2);
  });
});

type Step =
  | { do: 'queue' | 'intend' | 'block' | 'retries' | 'die' | 'fold' | 'resend' | 'month' }
  | { do: 'record'; outcomes: OutcomeName[]; again: boolean }
  | { do: 'report'; type: ReportName; pick: number }
  | { do: 'cancel'; pick: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: fc.constantFrom<Step>({ do: 'queue' }, { do: 'block' }, { do: 'retries' }), weight: 3 },
  { arbitrary: fc.constant<Step>({ do: 'intend' }), weight: 4 },
  {
    arbitrary: fc.record({
      do: fc.constant('record' as const),
      outcomes: fc.array(fc.constantFrom(...outcomeNames), { minLength: 1, maxLength: 5 }),
      again: fc.boolean(),
    }),
    weight: 6,
  },
  {
    arbitrary: fc.record({
      do: fc.constant('report' as const),
      type: fc.constantFrom<ReportName>('accepted', 'delivered', 'bounced', 'complained', 'failed'),
      pick: fc.nat(),
    }),
    weight: 3,
  },
  { arbitrary: fc.record({ do: fc.constant('cancel' as const), pick: fc.nat() }), weight: 1 },
  {
    arbitrary: fc.constantFrom<Step>({ do: 'die' }, { do: 'fold' }, { do: 'resend' }, { do: 'month' }),
    weight: 3,
  },
);

/** An account with transactional messages and a campaign, and the batches whose outcomes are not recorded. */
class Run {
  #open: Batch[] = [];
  #campaign: WrittenCampaign | null = null;

  async begin(): Promise<void> {
    account = await insertAccount(database);
    this.#campaign = await writeCampaign(database, account, {
      recipients: 12,
      blockSize: 4,
      prefix: `r${++prefix}-`,
    });
    await queueEmails(database, account, 5);
  }

  async take(given: Step): Promise<void> {
    switch (given.do) {
      case 'queue':
        await queueEmails(database, account, 3);
        return;
      case 'intend':
      case 'block':
      case 'retries': {
        const backlogs = { intend: 'transactional', block: 'block', retries: 'campaign' } as const;
        const batch = await sender.intend(account, backlogs[given.do]);
        if (batch) this.#open.push(batch);
        return;
      }
      case 'record': {
        const batch = this.#open.shift();
        const found = batch?.((n) => outcomes[given.outcomes[n % given.outcomes.length] ?? 'accepted']);
        if (found) await sender.record(found);
        if (found && given.again) await sender.record(found);
        return;
      }
      case 'report':
        await report(await this.#pick(given.pick), given.type);
        return;
      case 'cancel':
        await cancelMessages(database.pool, await this.#pick(given.pick), 'the contact was deleted');
        return;
      case 'die':
        await sender.die();
        return;
      case 'fold':
        await foldUsage(database.pool);
        return;
      case 'resend':
        await this.#resend();
        return;
      case 'month':
        await this.#nextMonth();
    }
  }

  async #pick(n: number): Promise<number[]> {
    const rows = await query<{ id: number }>('select id from messages where account_id = $1 order by id', [
      account.accountId,
    ]);
    return rows.filter((_, index) => index % 4 === n % 4).map(({ id }) => id);
  }

  #resend(): Promise<unknown> {
    const id = this.#campaign?.campaignId ?? 0;
    return inTransaction(database.pool, async (trx) => {
      await lockCampaignForChange(trx, id);
      await requeueUnknown(trx, id, 100);
    });
  }

  /** Moves everything that has happened so far to the previous month. */
  async #nextMonth(): Promise<void> {
    const back = (column: string) => `${column} = (${column} - interval '1 month')`;
    for (const table of ['usage_changes', 'account_usage']) {
      await query(`update ${table} set ${back('month')}::date where account_id = $1`, [account.accountId]);
    }
    await query(
      `update messages set ${['created_at', 'sent_at', 'unknown_at', 'unsent_at'].map(back).join(', ')}
       where account_id = $1`,
      [account.accountId],
    );
  }
}

/** Charged messages that were never sent nor unknown, and others that were and are not charged though none was given back. */
const misjudged = () =>
  query(
    `select id, status, sent_at, unknown_at, unsent_at from messages m
     where account_id = $1 and (unsent_at is null and (sent_at is not null or unknown_at is not null)) <> (
       sent_at is not null or status = 'unknown' or status in ('queued', 'held') and exists (
         select 1 from message_events e where e.message_id = m.id and e.type = 'unknown'))
     and not (unsent_at is not null and exists (
       select 1 from message_events e where e.message_id = m.id and e.type in ('failed', 'bounced')))`,
    [account.accountId],
  );

it('equals a recount after any outcomes, reports and crashes, whether it was folded or not', async () => {
  let charged = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 30 }), async (steps) => {
      const run = new Run();
      await run.begin();
      for (const each of steps) {
        await run.take(each);
        const { pool } = database;
        expect(await counted()).toEqual(await recountedUsage(pool, account.accountId));
      }
      expect(await misjudged()).toEqual([]);
      charged += await emails();
      await sender.die();
    }),
    { numRuns: 12, seed: 12 },
  );
  expect(charged).toBeGreaterThan(0);
}, 120_000);
