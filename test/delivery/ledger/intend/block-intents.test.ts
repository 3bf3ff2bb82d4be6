// The intents of all batches of a block are written in one statement, and only for what may be sent.
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { createBlockIntents } from '../../../../src/delivery/ledger/intend/block-intents.ts';
import type { Claim } from '../../../../src/delivery/ledger/ownership/claims.ts';
import type { Database } from '../../../../src/platform/db/database.ts';
import type { Queryable } from '../../../../src/platform/db/queryable.ts';
import { claimRecipients, writeCampaign, type WrittenCampaign } from '../../../support/campaigns.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { insertAccount, insertSender } from '../../../support/queued.ts';
import { testKeyring } from '../../../support/webhooks.ts';

const OWNER = 70;
const BATCH = 5;
const BATCHES = 4;

let test: TestDatabase;
/** Plans statements as a sender's database does. */
let database: Database;
let campaign: WrittenCampaign;
let claims: Claim[];
let statements = 0;
let prefix = 0;

beforeAll(async () => {
  test = await createTestDatabase({ keyedPlans: true });
  ({ database } = test);
  await insertSender(database, OWNER);
});
afterAll(() => test.drop());
beforeEach(async () => {
  const account = await insertAccount(database);
  campaign = await writeCampaign(database, account, {
    recipients: BATCH * BATCHES,
    prefix: `c${++prefix}-`,
  });
  claims = await claimRecipients(database, { accountId: account.accountId, owner: OWNER });
  await database.pool.query('delete from handovers');
  statements = 0;
});

/** Counts the statements that pass it. */
const counting = (): Queryable => ({
  query: ((...query: Parameters<Queryable['query']>) => {
    statements += 1;
    return database.pool.query(...query);
  }) as Queryable['query'],
});

const requestOf = (n: number) => ({
  ...{ owner: OWNER, seq: 100 + n, provider: 'smtp', keyring: testKeyring },
  claims: claims.slice(n * BATCH, (n + 1) * BATCH),
});

const blockOf = () => claims[0]?.block ?? { campaignId: 0, n: 0, epoch: 0 };
const idsOf = (n: number) => campaign.messageIds.slice(n * BATCH, (n + 1) * BATCH);

async function intents() {
  const { rows } = await database.pool.query<{ seq: number; ids: number[] }>(
    'select seq, message_ids as ids from handovers where owner = $1 order by seq',
    [OWNER],
  );
  return rows;
}

it('writes an intent for each batch of a block, in one statement', async () => {
  const intend = createBlockIntents(counting());
  const batches = await Promise.all([0, 1, 2, 3].map((n) => intend(requestOf(n), blockOf())));
  expect(statements).toBe(1);
  expect(batches.map((messages) => messages.map(({ messageId }) => messageId))).toEqual(
    [0, 1, 2, 3].map(idsOf),
  );
  expect(batches.flat().every(({ verdict, to }) => verdict === 'send' && to.includes('@'))).toBe(true);
  expect(await intents()).toEqual([0, 1, 2, 3].map((n) => ({ seq: 100 + n, ids: idsOf(n) })));
});

it('writes no intent for a batch in which nothing may be sent', async () => {
  const contacts = campaign.contactIds.slice(BATCH, 2 * BATCH);
  await database.pool.query('update contacts set email_subscribed = false where id = any($1)', [contacts]);
  const intend = createBlockIntents(counting());
  const [first, second] = await Promise.all([0, 1].map((n) => intend(requestOf(n), blockOf())));
  expect(first?.map(({ verdict }) => verdict)).toEqual(Array(BATCH).fill('send'));
  expect(second?.map(({ verdict }) => verdict)).toEqual(Array(BATCH).fill('unsubscribed'));
  expect(await intents()).toEqual([{ seq: 100, ids: idsOf(0) }]);
});

it('returns nothing to each batch of a claim that is no longer valid', async () => {
  const intend = createBlockIntents(counting());
  const stale = { ...blockOf(), epoch: blockOf().epoch + 1 };
  expect(await Promise.all([0, 1].map((n) => intend(requestOf(n), stale)))).toEqual([[], []]);
  expect(await intents()).toEqual([]);
});

it('passes a database error to each batch, and continues', async () => {
  let fails = true;
  const failing = counting();
  const intend = createBlockIntents({
    query: ((...query: Parameters<Queryable['query']>) =>
      fails ? Promise.reject(new Error('no connection')) : failing.query(...query)) as Queryable['query'],
  });
  const results = await Promise.allSettled([0, 1].map((n) => intend(requestOf(n), blockOf())));
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  fails = false;
  expect(await intend(requestOf(2), blockOf())).toHaveLength(BATCH);
});
