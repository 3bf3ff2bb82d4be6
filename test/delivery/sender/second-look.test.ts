// A suppression or opt-out stops a message even if the statement of its intent began earlier.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import type { DeliveryFact } from '../../../src/delivery/ledger/facts/delivery-fact.ts';
import { createReportRecording } from '../../../src/delivery/wire/inbound/record-reports.ts';
import { messageClasses } from '../../../src/delivery/terms/message.ts';
import {
  createRecipientFence,
  type RecipientFence,
} from '../../../src/delivery/ledger/consent/recipient-fence.ts';
import { intendMessages } from '../../../src/delivery/ledger/intend/queue-batch.ts';
import type { BatchMessage } from '../../../src/delivery/ledger/intend/batch.ts';
import { intendBlock } from '../../../src/delivery/ledger/intend/block-batch.ts';
import { claimBlock } from '../../../src/delivery/ledger/blocks/claim-blocks.ts';
import { claimBacklog } from '../../../src/delivery/ledger/claim/claim.ts';
import { createCallbackRecording } from '../../../src/features/callbacks/recording.ts';
import { setSubscription } from '../../../src/features/contacts/service.ts';
import { type Database, openDatabase } from '../../../src/platform/db/database.ts';
import { inTransaction, type Queryable } from '../../../src/platform/db/queryable.ts';
import { createWaker, type Waker } from '../../../src/platform/db/wake.ts';
import { writeCampaign } from '../../support/campaigns.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { testEvents } from '../../support/events.ts';
import { eventually } from '../../support/eventually.ts';
import { send, testFlowSender, writeContact, writeFlow, writeRun } from '../../support/flow-sends.ts';
import { insertAccount, insertSender, type QueuedAccount, queueEmails } from '../../support/queued.ts';
import { TEST_LIMITS } from '../../support/sending.ts';
import { testKeyring } from '../../support/webhooks.ts';

const OWNER = 80;

let test: TestDatabase;
/** Plans statements as a sender's database does. */
let database: Database;
let waker: Waker;
let fence: RecipientFence;
let account: QueuedAccount;
let seq = 0;

beforeAll(async () => {
  test = await createTestDatabase({ poolMax: 8 });
  database = openDatabase({ url: test.url, poolMax: 4, keyedPlans: true });
  waker = createWaker({ url: test.url });
  fence = createRecipientFence(test.database.pool);
  await insertSender(database, OWNER);
});
afterAll(async () => {
  await waker.close();
  await database.close();
  await test.drop();
});
beforeEach(async () => {
  account = await insertAccount(database);
});

const query = (sql: string, ...values: unknown[]) => test.database.pool.query(sql, values);
const backlog = () => ({ channel: 'email' as const, accountId: account.accountId, owner: OWNER });

const requestOf = <Claim>(claims: Claim[]) => ({
  owner: OWNER,
  seq: ++seq,
  provider: 'smtp',
  claims,
  keyring: testKeyring,
});

async function untilWaiting(event: string): Promise<void> {
  await eventually(async () => {
    const { rowCount } = await query(
      'select 1 from pg_stat_activity where datname = current_database() and wait_event = $1',
      event,
    );
    expect(rowCount).toBe(1);
  });
}

/** Changes a recipient while the intent's statement, which already has its snapshot, waits for its locks. */
async function changeMeanwhile(
  intend: () => Promise<BatchMessage[]>,
  change: () => Promise<unknown>,
): Promise<string[]> {
  const intending = await inTransaction(test.database.pool, async (client) => {
    await client.query('select stop_intents($1)', [account.accountId]);
    const messages = intend();
    await untilWaiting('advisory');
    await change();
    return { messages };
  });
  return (await intending.messages).map(({ verdict }) => verdict);
}

/** A message of an earlier hand-over to `u0@example.com`, and intending further ones to it and to `u1@example.com`. */
async function bouncing() {
  const [sent = 0] = await queueEmails(test.database, account, 1);
  await query(
    `update messages set status = 'sent', provider = 'relay', sent_at = now(), sent_attempt = 1 where id = $1`,
    sent,
  );
  await query('delete from send_queue where message_id = $1', sent);
  await queueEmails(test.database, account, 2);
  const request = { ...backlog(), class: messageClasses.transactional, quantum: 2 };
  const batch = requestOf(await claimBacklog(database.pool, request, TEST_LIMITS));
  return { sent, intend: () => intendMessages(database.pool, batch) };
}

const bounce = (messageId: number, source: DeliveryFact['source']): DeliveryFact => ({
  ...{ accountId: account.accountId, messageId, source, type: 'bounced', occurredAt: new Date() },
  ...{ providerMessageId: null, response: null, failure: null, suppresses: true },
  bounce: { type: 'hard', subtype: 'no_such_mailbox', diagnostic: '550 5.1.1 unknown' },
});

function recordCallback(messageId: number) {
  const { pool } = test.database;
  const log = pino({ level: 'silent' });
  const recording = createCallbackRecording({
    pool,
    keyring: testKeyring,
    events: testEvents,
    waker,
    fence,
    log,
  });
  const facts = [bounce(messageId, { kind: 'callback', provider: 'relay' })];
  return recording.record({ providerId: 1, facts, tokens: [], bodyDigest: Buffer.alloc(32) });
}

const recordMail = (messageId: number) =>
  createReportRecording({ pool: test.database.pool, waker, events: testEvents, fence })([
    bounce(messageId, { kind: 'mail' }),
  ]);

describe('a bounce', () => {
  it.each([
    ['a callback', recordCallback],
    ['a mail', recordMail],
  ])('that %s reports stops a message whose intent began before it', async (_source, record) => {
    const { sent, intend } = await bouncing();
    expect(await changeMeanwhile(intend, () => record(sent))).toEqual(['suppressed', 'send']);
  });

  it.each([
    ['a callback', recordCallback],
    ['a mail', recordMail],
  ])('that %s reports is confirmed only when the intents under way have ended', async (_source, record) => {
    const { sent } = await bouncing();
    const order: string[] = [];
    const { confirmed } = await inTransaction(database.pool, async (client) => {
      await client.query('select * from accounts_to_send(array[$1::bigint])', [account.accountId]);
      const recorded = record(sent).then(() => order.push('confirmed'));
      await untilWaiting('PgSleep');
      order.push('intended');
      return { confirmed: recorded };
    });
    await confirmed;
    expect(order).toEqual(['intended', 'confirmed']);
  });
});

async function unsubscribe(address: string): Promise<void> {
  const { accountId, brandId } = account;
  const change = { accountId, brandId, channel: 'email', of: { key: address }, subscribed: false } as const;
  await inTransaction(test.database.pool, (trx) =>
    setSubscription(trx, { keyring: testKeyring, plusAddresses: false }, { ...change, source: 'one_click' }),
  );
  await fence.wait(accountId);
}

async function blockIntent() {
  await writeCampaign(test.database, account, { recipients: 2, prefix: 'c' });
  const request = { ...backlog(), providerId: 0, messages: 2 };
  const { claims } = await claimBlock(database.pool, request, TEST_LIMITS);
  const block = claims[0]?.block;
  if (!block) throw new Error('no claims');
  return (client: Queryable = database.pool) => intendBlock(client, requestOf(claims), block);
}

async function retryIntent() {
  const { campaignId } = await writeCampaign(test.database, account, { recipients: 2, prefix: 'c' });
  await query(
    `insert into send_queue (message_id, account_id, channel, class, due_at, queued_at, attempt_count, provider_id,
       campaign_id)
     select id, account_id, channel, class, now(), created_at, 1, 0, campaign_id from messages where campaign_id = $1`,
    campaignId,
  );
  const request = { ...backlog(), class: messageClasses.campaign, quantum: 2 };
  const claims = await claimBacklog(database.pool, request, TEST_LIMITS);
  return () => intendMessages(database.pool, requestOf(claims));
}

async function flowIntent() {
  const { flowId, steps } = await writeFlow(test.database, account);
  for (const email of ['c1@example.com', 'c2@example.com']) {
    const contactId = await writeContact(test.database, account, { email });
    const run = await writeRun(test.database, account, flowId, contactId);
    await send(test.database, testFlowSender(), run, steps[0]);
  }
  const request = { ...backlog(), class: messageClasses.flow, quantum: 2 };
  const claims = await claimBacklog(database.pool, request, TEST_LIMITS);
  return () => intendMessages(database.pool, requestOf(claims));
}

describe('an opt-out', () => {
  it.each([
    ['a block of a campaign', blockIntent],
    ['retries of a campaign', retryIntent],
    ['messages of a flow', flowIntent],
  ])('stops a message among %s whose intent began before it', async (_what, prepare) => {
    const intend = await prepare();
    const verdicts = await changeMeanwhile(intend, () => unsubscribe('c1@example.com'));
    expect(verdicts).toEqual(['unsubscribed', 'send']);
  });

  it('stops it even if the account was marked some seconds ago, so that the mark is not renewed', async () => {
    const intend = await blockIntent();
    await query(
      `update accounts set recipients_changed_at = now() - interval '4 seconds' where id = $1`,
      account.accountId,
    );
    const verdicts = await changeMeanwhile(intend, () => unsubscribe('c1@example.com'));
    expect(verdicts).toEqual(['unsubscribed', 'send']);
  });

  it('does not stop messages that the contact did not opt out of', async () => {
    const intend = await blockIntent();
    const verdicts = await changeMeanwhile(intend, () => unsubscribe('someone-else@example.com'));
    expect(verdicts).toEqual(['send', 'send']);
  });
});

describe('the second look for suppressions', () => {
  it.each([
    ['does not happen if recipients of the account have never changed', 'null', 'send'],
    ['does not happen if they changed a while ago', `now() - interval '11 seconds'`, 'send'],
    ['happens if they have just changed', `now() - interval '9 seconds'`, 'suppressed'],
  ])('%s', async (_rule, changedAt, verdict) => {
    const intend = await blockIntent();
    await query(`update accounts set recipients_changed_at = ${changedAt} where id = $1`, account.accountId);
    const client = await database.pool.connect();
    try {
      await client.query('begin');
      // The look takes longer than all other checks of a message together.
      await client.query(
        `create or replace function is_suppressed(account bigint, address text, untagged boolean) returns boolean
         language plpgsql as $$ begin perform set_config('test.looked', 'yes', true); return true; end $$`,
      );
      const messages = await intend(client);
      const { rows } = await client.query<{ looked: string | null }>(
        `select current_setting('test.looked', true) as looked`,
      );
      expect(messages.map((message) => message.verdict)).toEqual([verdict, verdict]);
      expect(rows[0]?.looked === 'yes').toBe(verdict === 'suppressed');
    } finally {
      await client.query('rollback');
      client.release();
    }
  });
});
