// Queries about the intents of a message cost no more if other senders have many.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { cancelCampaignMessages } from '../../../../src/delivery/ledger/blocks/campaign-blocks.ts';
import { skipRecipients } from '../../../../src/delivery/ledger/cancel/cancel.ts';
import type { DeliveryFact } from '../../../../src/delivery/ledger/facts/delivery-fact.ts';
import { recordFacts } from '../../../../src/delivery/ledger/facts/facts.ts';
import { messageClasses } from '../../../../src/delivery/terms/message.ts';
import { intendMessages } from '../../../../src/delivery/ledger/intend/queue-batch.ts';
import { intendBlock } from '../../../../src/delivery/ledger/intend/block-batch.ts';
import { claimBlock } from '../../../../src/delivery/ledger/blocks/claim-blocks.ts';
import { claimBacklog } from '../../../../src/delivery/ledger/claim/claim.ts';
import { listMessages } from '../../../../src/features/messages/list.ts';
import { findMessage } from '../../../../src/features/messages/model.ts';
import type { Tenant } from '../../../../src/platform/auth/tenant.ts';
import { type Database, openDatabase } from '../../../../src/platform/db/database.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { writeCampaign, type WrittenCampaign } from '../../../support/campaigns.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { testEvents } from '../../../support/events.ts';
import { insertAccount, insertSender, type QueuedAccount, queueEmails } from '../../../support/queued.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';
import { testKeyring } from '../../../support/webhooks.ts';

const OWNER = 60;
const OTHER_INTENTS = 3_000;
/** Of `handovers`, for one message; each has only some intents of its owner to look at. */
const FEW_ROWS = 20;
const RECIPIENTS = 20;

let test: TestDatabase;
/** One connection, so that the test reads the figures of its own statements. */
let one: Database;
let account: QueuedAccount;
let campaign: WrittenCampaign;
/** Of the queue: intended, and free. */
let queued: number[];

beforeAll(async () => {
  test = await createTestDatabase();
  one = openDatabase({ url: test.url, poolMax: 1 });
  const { database } = test;
  await insertSender(database, OWNER);
  account = await insertAccount(database);
  await database.pool.query(
    `insert into handovers (owner, seq, provider, message_ids, attempts)
     select 1000 + n % 100, n, 'smtp', array(select 1000000000 + n * 50 + k from generate_series(0, 49) k),
       array_fill(1::smallint, array[50]) from generate_series(1, $1) n`,
    [OTHER_INTENTS],
  );
  campaign = await writeCampaign(database, account, { recipients: RECIPIENTS, blockSize: 10 });
  const backlog = { channel: 'email', accountId: account.accountId, owner: OWNER } as const;
  const intent = (seq: number) => ({ owner: OWNER, seq, provider: 'smtp', keyring: testKeyring });
  const { claims } = await claimBlock(
    database.pool,
    { ...backlog, providerId: 0, messages: 10 },
    TEST_LIMITS,
  );
  const [first] = claims;
  if (!first?.block) throw new Error('no claims');
  await intendBlock(database.pool, { ...intent(1), claims: claims.slice(0, 5) }, first.block);
  queued = await queueEmails(database, account, 2);
  const request = { ...backlog, class: messageClasses.transactional, quantum: 1 };
  await intendMessages(database.pool, {
    ...intent(2),
    claims: await claimBacklog(database.pool, request, TEST_LIMITS),
  });
  await database.pool.query('vacuum analyze handovers, messages, send_queue, campaign_blocks');
});
afterAll(async () => {
  await one.close();
  await test.drop();
});

async function intentsRead(): Promise<number> {
  await one.pool.query('select pg_stat_force_next_flush()');
  const { rows } = await test.database.pool.query<{ read: number }>(
    `select (seq_tup_read + idx_tup_fetch)::int as read from pg_stat_user_tables where relname = 'handovers'`,
  );
  return rows[0]?.read ?? 0;
}

/** @returns the result, and how many intents were read */
async function reading<T>(work: () => Promise<T>): Promise<{ result: T; read: number }> {
  const before = await intentsRead();
  const result = await work();
  return { result, read: (await intentsRead()) - before };
}

const tenant = () => ({ accountId: account.accountId, brandId: account.brandId }) as Tenant;
const [ofBlock, ofQueue] = [() => campaign.messageIds[0] ?? 0, () => queued[0] ?? 0];
const [freeInBlock, freeInQueue] = [() => campaign.messageIds[7] ?? 0, () => queued[1] ?? 0];

it.each([
  ['of a block', ofBlock, true],
  ['of a block whose other messages are being sent', freeInBlock, false],
  ['of the queue', ofQueue, true],
  ['of the queue that waits', freeInQueue, false],
])('finds whether a message %s is being sent', async (_which, id, sending) => {
  const { result, read } = await reading(() => findMessage(one.pool, tenant(), id()));
  expect(result).toMatchObject({ sending });
  expect(read).toBeLessThan(FEW_ROWS);
});

it('lists waiting messages', async () => {
  const page = { number: 1, limit: 100, offset: 0, after: null };
  const { result, read } = await reading(() => listMessages(one.pool, tenant(), { status: 'queued' }, page));
  expect(result.rows).toHaveLength(RECIPIENTS + 2 - 6);
  // The page and its count look at all 22 messages.
  expect(read).toBeLessThan(22 * 3 * 3);
});

it('lists messages being sent', async () => {
  const page = { number: 1, limit: 100, offset: 0, after: null };
  const { rows } = await listMessages(one.pool, tenant(), { status: 'sending' }, page);
  expect(rows.map(({ id }) => id).toSorted((a, b) => a - b)).toEqual(
    [...campaign.messageIds.slice(0, 5), ofQueue()].toSorted((a, b) => a - b),
  );
});

const accepted = (messageId: number): DeliveryFact => ({
  ...{ accountId: account.accountId, messageId, source: { kind: 'callback', provider: 'smtp' } },
  ...{ type: 'accepted', occurredAt: new Date(), providerMessageId: 'x', response: null, bounce: null },
  ...{ failure: null, suppresses: false },
});

it.each([
  ['in a block', ofBlock, 1],
  ['in the queue', ofQueue, 1],
  ['that nobody is sending', freeInQueue, 0],
])('believes a report that comes before the record of a message %s', async (_which, id, recorded) => {
  const { result, read } = await reading(() =>
    inTransaction(one.pool, (trx) => recordFacts(trx, [accepted(id())], testEvents)),
  );
  expect(result.recorded).toBe(recorded);
  expect(read).toBeLessThan(FEW_ROWS);
});

it('skips only recipients who are not being sent to', async () => {
  const ids = campaign.messageIds.slice(3, 7);
  const failure = { code: 'contact_deleted', message: 'gone' } as const;
  const { result, read } = await reading(() =>
    inTransaction(one.pool, (trx) => skipRecipients(trx, ids, failure)),
  );
  expect(result).toEqual(ids.slice(2));
  expect(read).toBeLessThan(FEW_ROWS);
});

it('cancels only recipients who are not being sent to', async () => {
  const { campaignId } = campaign;
  const { result, read } = await reading(() =>
    inTransaction(one.pool, (trx) => cancelCampaignMessages(trx, campaignId, 1_000)),
  );
  // All but those under the intent, and the two that were skipped.
  expect(result).toEqual({ canceled: RECIPIENTS - 5 - 2, done: false });
  expect(read).toBeLessThan(RECIPIENTS * 2 * 3);
});
