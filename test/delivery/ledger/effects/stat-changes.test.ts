// The figures equal a count of the messages, whatever is recorded, and each message counts once under each name.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { foldStats } from '../../../../src/features/stats/fold.ts';
import type { Database } from '../../../../src/platform/db/database.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { writeCampaign } from '../../../support/campaigns.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { send, testFlowSender, writeContact, writeFlow, writeRun } from '../../../support/flow-sends.ts';
import { createOutcomes, type OutcomeName, outcomes, type ReportName } from '../../../support/outcomes.ts';
import { insertAccount, insertSender, queueEmails, type QueuedAccount } from '../../../support/queued.ts';
import { fetchLinks, unsubscribeBy } from '../../../support/recipients.ts';
import { countedStats, recountedStats, statSums } from '../../../support/stats.ts';

const OWNER = 91;

let test: TestDatabase;
/** Plans statements as a sender's database does. */
let database: Database;
let account: QueuedAccount;
let sender: ReturnType<typeof createOutcomes>;

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

const sums = () => statSums(database.pool, account.brandId);
const counted = () => countedStats(database.pool, account.brandId);

async function expectRecount(): Promise<void> {
  expect(await counted()).toEqual(await recountedStats(database.pool, account.brandId));
}

/** Queues emails and records their outcomes. @returns their ids */
async function sendEmails(...given: OutcomeName[]): Promise<number[]> {
  const ids = await queueEmails(database, account, given.length);
  await sender.send(account, 'transactional', ...given);
  return ids;
}

const report = (messageId: number, ...names: ReportName[]) =>
  sender.report(
    account,
    names.map((name) => ({ messageId, name })),
  );

const fetchLink = (messageId: number, link: number, at = new Date()) =>
  fetchLinks(database.pool, account, [{ messageId, link, at }]);

const unsubscribe = (messageId: number, address: string | null) =>
  unsubscribeBy(database.pool, account, messageId, address);

describe('the outcome of a hand-over', () => {
  it.each<[OutcomeName, object]>([
    ['accepted', { sent: 1 }],
    ['delivered', { sent: 1, delivered: 1 }],
    ['bounced', { bounced: 1 }],
    ['refused', {}],
    ['unknown', {}],
    ['deferred', {}],
    ['lost', {}],
  ])('%s counts as %j', async (outcome, expected) => {
    await sendEmails(outcome);
    expect(await sums()).toEqual(expected);
    await expectRecount();
  });

  it('counts once if it is recorded twice', async () => {
    await queueEmails(database, account, 2);
    const batch = (await sender.intend(account, 'transactional'))?.((n) =>
      n === 0 ? outcomes.delivered : outcomes.bounced,
    );
    if (!batch) throw new Error('no batch');
    await sender.record(batch);
    await sender.record(batch);
    expect(await sums()).toEqual({ sent: 1, delivered: 1, bounced: 1 });
  });

  it('counts under the campaign, the flow or the API that has sent the message', async () => {
    await writeCampaign(database, account, { recipients: 3, blockSize: 2 });
    await sender.send(account, 'block', 'accepted');
    await sender.send(account, 'block', 'deferred');
    await sender.send(account, 'campaign', 'accepted');
    const { flowId, steps } = await writeFlow(database, account);
    const contactId = await writeContact(database, account);
    await send(database, testFlowSender(), await writeRun(database, account, flowId, contactId), steps[0]);
    await sender.send(account, 'flow', 'delivered');
    await sendEmails('accepted');
    const found = (await counted()).map(({ source, name, count }) => `${source} ${name} ${count}`);
    expect(found.sort()).toEqual(['api sent 1', 'campaign sent 3', 'flow delivered 1', 'flow sent 1']);
    await expectRecount();
  });

  it('counts in the same transaction in which the message changes', async () => {
    await queueEmails(database, account, 1);
    const batch = await sender.intend(account, 'transactional');
    await query(`create function fail() returns trigger language plpgsql as $$ begin raise 'no'; end $$`);
    await query('create trigger fail before insert on stat_changes for each row execute function fail()');
    try {
      if (!batch) throw new Error('no batch');
      await expect(sender.record(batch(() => outcomes.bounced))).rejects.toThrow('no');
    } finally {
      await query('drop function fail cascade');
    }
    expect(await query('select status from messages where account_id = $1', [account.accountId])).toEqual([
      { status: 'queued' },
    ]);
  });
});

describe('a report', () => {
  it.each<[OutcomeName, ReportName[], object]>([
    ['accepted', ['delivered'], { sent: 1, delivered: 1 }],
    ['unknown', ['delivered'], { sent: 1, delivered: 1 }],
    ['unknown', ['bounced'], { sent: 1, bounced: 1 }],
    ['unknown', ['failed'], { sent: 1 }],
    ['accepted', ['soft-bounced', 'bounced'], { sent: 1, bounced: 1 }],
    ['accepted', ['bounced', 'delivered'], { sent: 1, bounced: 1, delivered: 1 }],
    [
      'accepted',
      ['complained', 'delivered', 'bounced'],
      { sent: 1, delivered: 1, complained: 1, bounced: 1 },
    ],
    ['bounced', ['delivered'], { sent: 1, delivered: 1, bounced: 1 }],
    ['delivered', ['delivered'], { sent: 1, delivered: 1 }],
  ])('counts once after the outcome %s: %j', async (outcome, names, expected) => {
    const [id = 0] = await sendEmails(outcome);
    for (const name of names) {
      await report(id, name, name);
      await report(id, name);
    }
    expect(await sums()).toEqual(expected);
    await expectRecount();
  });

  it('counts all that one transaction reports about a message, in any order', async () => {
    const [id = 0] = await sendEmails('unknown');
    await report(id, 'complained', 'bounced', 'delivered', 'accepted', 'bounced', 'delivered');
    expect(await sums()).toMatchObject({ sent: 1, complained: 1 });
    await expectRecount();
  });

  it('counts in the quarter of an hour of the fact, not of the report', async () => {
    const [id = 0] = await sendEmails('accepted');
    await query(`update messages set created_at = created_at - interval '3 days' where id = $1`, [id]);
    const at = new Date(Date.now() - 2 * 86_400_000);
    await sender.report(account, [{ messageId: id, name: 'complained', at }]);
    const slot = new Date(Math.floor(at.getTime() / 900_000) * 900_000);
    expect((await counted()).find(({ name }) => name === 'complained')).toMatchObject({ slot, count: 1 });
    await expectRecount();
  });
});

describe('an open, a click or an unsubscription', () => {
  it('counts once for each message', async () => {
    const [one = 0, other = 0] = await sendEmails('accepted', 'accepted');
    for (const id of [one, other]) await fetchLink(id, 0);
    for (const link of [0, 1, 1, 2]) await fetchLink(one, link, new Date(Date.now() - link * 5_000 - 9_000));
    for (const address of ['u0@example.com', 'u0@example.com', null]) await unsubscribe(one, address);
    expect(await sums()).toEqual({ sent: 2, opened: 2, clicked: 1, unsubscribed: 1 });
    await expectRecount();
  });

  it('counts if the recipient is no longer known', async () => {
    const [id = 0] = await sendEmails('accepted');
    await unsubscribe(id, null);
    expect(await sums()).toEqual({ sent: 1, unsubscribed: 1 });
  });

  it('does not count for the message of another brand', async () => {
    const [id = 0] = await sendEmails('accepted');
    const owner = account;
    account = await insertAccount(database);
    await unsubscribe(id, 'u0@example.com');
    expect(await sums()).toEqual({});
    account = owner;
    expect(await sums()).toEqual({ sent: 1 });
  });
});

describe('a fold', () => {
  const foldAll = async () => {
    while (await foldStats(database.pool));
  };

  it('keeps the figures, and adds to those folded before', async () => {
    await sendEmails('accepted', 'delivered', 'bounced');
    const before = await counted();
    await foldAll();
    expect(await query('select from stat_changes where brand_id = $1', [account.brandId])).toEqual([]);
    expect(await counted()).toEqual(before);
    await sendEmails('delivered', 'accepted');
    await foldAll();
    expect(await sums()).toEqual({ sent: 4, delivered: 2, bounced: 1 });
    await expectRecount();
  });

  it('leaves out tests, the mail of the service itself, and brands that are gone', async () => {
    const ids = await queueEmails(database, account, 2);
    await query('update messages set test = true where id = any($1)', [ids]);
    await sender.send(account, 'transactional', 'delivered', 'bounced');
    for (const brandId of [0, 4_000_000]) {
      await query(`insert into stat_changes values ($1, now(), 'api', 'email', 'sent', 1)`, [brandId]);
    }
    await foldAll();
    expect(await sums()).toEqual({});
    expect(await query('select from stat_counts where brand_id = any($1)', [[0, account.brandId]])).toEqual(
      [],
    );
    expect(await query('select from stat_changes')).toEqual([]);
  });

  it('counts each change once if several processes fold at once', async () => {
    await query(
      `insert into stat_changes select $1, date_bin('15 minutes', now(), '2000-01-01 00:00+00') - n % 9 * interval '15 minutes',
         'api', 'email', 'opened', 1 from generate_series(1, 50000) n`,
      [account.brandId],
    );
    await Promise.all([foldAll(), foldAll(), foldAll()]);
    await foldAll();
    expect(await sums()).toEqual({ opened: 50_000 });
  });

  it('makes no sender wait', async () => {
    await sendEmails('accepted');
    await inTransaction(database.pool, async (trx) => {
      await foldStats(trx);
      await sendEmails('accepted');
    });
    expect(await sums()).toEqual({ sent: 2 });
  });
});
