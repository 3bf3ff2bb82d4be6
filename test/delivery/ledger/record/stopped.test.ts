// A record that is stopped between two of its queries, while others change the same rows, loses and repeats nothing.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { recountBlocks } from '../../../../src/delivery/ledger/blocks/tallies.ts';
import { endBlockClaim } from '../../../../src/delivery/ledger/blocks/claimed-blocks.ts';
import type { BatchRecord } from '../../../../src/delivery/ledger/record/record.ts';
import type { HandOverOutcome } from '../../../../src/delivery/terms/hand-over-outcome.ts';
import { messageClasses } from '../../../../src/delivery/terms/message.ts';
import { wrongTallies, writeCampaign } from '../../../support/campaigns.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { runBehindLock } from '../../../support/lock-order.ts';
import { insertPayer, setPrice, wrongMonths } from '../../../support/money.ts';
import { type Backlog, createOutcomes, outcomes, type ReportName } from '../../../support/outcomes.ts';
import { insertSender, queueEmails, type QueuedAccount } from '../../../support/queued.ts';
import { countedUsage, emailsSent, recountedUsage } from '../../../support/usage.ts';

const PRICE = 100;

type Given = readonly HandOverOutcome[];

let test: TestDatabase;
let owner = 700;
let account: QueuedAccount;
let campaignId: number;
/** Messages whose outcome is unknown, and that no open batch has. */
let waiting: number[];
let sender: ReturnType<typeof createOutcomes>;
let handedOver: ((given: Given) => BatchRecord)[];

beforeAll(async () => {
  test = await createTestDatabase({ poolMax: 8, keyedPlans: true });
  await setPrice(test.database, PRICE);
});
afterAll(() => test.drop());

const query = <Row extends object>(text: string, ...values: unknown[]) =>
  test.database.pool.query<Row>(text, values).then(({ rows }) => rows);

const soft: HandOverOutcome = {
  ...{ kind: 'bounced', response: '452 full' },
  bounce: { type: 'soft', subtype: 'mailbox_full', diagnostic: '452 full' },
};
/** What reports of a delivery or a failure do not contradict. */
const open = [outcomes.accepted, outcomes.unknown];
const all = [...open, outcomes.refused, outcomes.bounced, outcomes.deferred, soft];

async function intend(backlog: Backlog, first: number): Promise<(given: Given) => BatchRecord> {
  const batch = await sender.intend(account, backlog, 4);
  if (!batch) throw new Error(`nothing waits: ${backlog}`);
  return (given) => batch((n) => given[(first + n) % given.length] ?? outcomes.accepted);
}

/** Queues emails that have reserved their price, as POST /messages does. */
async function acceptEmails(count: number, prefix: string): Promise<void> {
  const ids = await queueEmails(test.database, account, count, { prefix: `${prefix}${owner}-` });
  await query(
    `with month as (
       insert into account_months as s (account_id, month, email_units, spent_millicents)
       values ($1, current_month(), $3::int, $3::int * $4::int)
       on conflict (account_id, month) do update set email_units = s.email_units + excluded.email_units,
         spent_millicents = s.spent_millicents + excluded.spent_millicents
     ) update send_queue set price_month = current_month(), price_millicents = $4, price_units = 1
     where message_id = any($2)`,
    ...[account.accountId, ids, count, PRICE],
  );
}

beforeEach(async () => {
  const { database } = test;
  await insertSender(database, ++owner);
  sender = createOutcomes(database, owner);
  account = await insertPayer(database, { funds: 50 * PRICE, free: 3 });
  ({ campaignId } = await writeCampaign(database, account, { recipients: 6, prefix: `w${owner}-` }));
  await acceptEmails(3, 'u');
  await sender.send(account, 'block', 'accepted', 'unknown');
  await sender.send(account, 'transactional', 'unknown');
  const rows = await query<{ id: number }>(
    `select id from messages where account_id = $1 and status = 'unknown' order by 1`,
    account.accountId,
  );
  waiting = rows.map(({ id }) => id);
  // They must not be in the batches of the test.
  await query(`update send_queue set due_at = 'infinity' where account_id = $1`, account.accountId);
  await writeCampaign(database, account, { recipients: 6, prefix: `v${owner}-` });
  await acceptEmails(4, 't');
  await queueEmails(database, account, 4, {
    ...{ prefix: `f${owner}-`, source: { class: messageClasses.flow, flow_id: 1 } },
  });
  handedOver = [await intend('block', 0), await intend('transactional', 1), await intend('flow', 2)];
});

const reportAbout = (ids: readonly number[], ...names: ReportName[]) =>
  sender.report(
    account,
    ids.map((messageId, n) => ({ messageId, name: names[n % names.length] ?? 'delivered' })),
  );

/** Rows that a record locks one after another, between its queries. */
const stops = {
  'before its blocks': 'select 1 from campaign_blocks where account_id = $1 for update',
  'before the money': 'select 1 from account_months where account_id = $1 for update',
};

interface Other {
  given: Given;
  run(batches: readonly BatchRecord[], ids: readonly number[]): Promise<unknown>;
}

const others: Record<string, Other> = {
  'the same record': { given: all, run: (batches) => sender.record(...batches) },
  'deliveries of the same messages': { given: open, run: (_batches, ids) => reportAbout(ids, 'delivered') },
  'failures of the same messages': {
    given: open,
    run: (_batches, ids) => reportAbout(ids, 'failed', 'bounced', 'delivered'),
  },
  'failures of other messages': { given: all, run: () => reportAbout(waiting, 'failed', 'delivered') },
  'failures of a block in which all was sent': {
    given: [outcomes.accepted],
    run: (_batches, ids) => reportAbout(ids, 'failed', 'delivered'),
  },
  // Then the sender knows the id of a message that was not sent in the end.
  'failures of a block whose provider gives ids': {
    given: [{ ...outcomes.accepted, providerMessageId: 'p-1' }],
    run: (_batches, ids) => reportAbout(ids, 'failed', 'delivered'),
  },
  'the end of its process': { given: all, run: () => sender.die() },
};

/** All figures of the account agree with its messages. */
async function check(): Promise<void> {
  const { pool } = test.database;
  const { accountId } = account;
  const wrong = await wrongMonths(test.database, PRICE);
  expect(wrong.filter((month) => (month as { account_id: number }).account_id === accountId)).toEqual([]);
  expect(await countedUsage(pool, accountId)).toEqual(await recountedUsage(pool, accountId));
  const [sent] = await query<{ sent: number; attempted: number }>(
    `select count(*) filter (where sent_at is not null)::int as sent,
       (select sum(attempted)::int from account_outcomes where account_id = $1) as attempted
     from messages where account_id = $1`,
    accountId,
  );
  expect(await emailsSent(pool, accountId)).toBe(sent?.sent);
  expect(await query('select 1 from handovers where owner = $1', owner)).toEqual([]);
  const stats = await query(
    `select name, sum(count)::int as count from stat_changes s join brands b on b.id = s.brand_id
     where b.account_id = $1 and name in ('sent', 'delivered') group by name order by name`,
    accountId,
  );
  expect(stats).toEqual(
    await query(
      `select v.name, count(*)::int as count
       from messages m cross join lateral (values ('sent', m.sent_at), ('delivered', m.delivered_at)) as v (name, at)
       where m.account_id = $1 and v.at is not null group by 1 order by 1`,
      accountId,
    ),
  );
}

/** Runs a record and something else, the first of which stops where the row is locked. */
async function runBoth(lock: string, { given, run }: Other, order: 'beside' | 'after'): Promise<void> {
  const { pool } = test.database;
  const batches = handedOver.map((batchOf) => batchOf(given));
  const ids = batches.flatMap((batch) => batch.outcomes.map(({ messageId }) => messageId));
  const both = [() => sender.record(...batches), () => run(batches, ids)];
  const works = order === 'beside' ? both : both.toReversed();
  await runBehindLock(pool, { lock, values: [account.accountId] }, works);
  // The reply to the commit may have been lost.
  await sender.record(...batches);
  for (const { block } of batches) if (block) await endBlockClaim(pool, owner, block);
}

describe.each(Object.entries(stops))('stopped %s', (_stop, lock) => {
  const cases = Object.keys(others).flatMap((name) =>
    (['beside', 'after'] as const).map((order) => [order, name] as const),
  );
  it.each(cases)('%s %s', async (order, name) => {
    await runBoth(lock, others[name] as Other, order);
    await check();
    for (const id of [campaignId, campaignId + 1]) {
      while ((await recountBlocks(test.database.pool, id)) > 0);
      expect(await wrongTallies(test.database, id)).toEqual([]);
    }
  });
});
