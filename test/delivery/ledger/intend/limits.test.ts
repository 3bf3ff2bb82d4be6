// Every statement that writes an intent obeys each limit of the table, also one that is made up.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { claimBacklog } from '../../../../src/delivery/ledger/claim/claim.ts';
import { intendBlock, intendInBlockSql } from '../../../../src/delivery/ledger/intend/block-batch.ts';
import {
  intendMessages,
  intendMessagesSql,
  intendOfFlowsSql,
  intendRetriesSql,
} from '../../../../src/delivery/ledger/intend/queue-batch.ts';
import { limits, type Limits } from '../../../../src/delivery/ledger/limits/authority.ts';
import { blockLimits } from '../../../../src/delivery/ledger/limits/block-limits.ts';
import type { Limit } from '../../../../src/delivery/ledger/limits/limit.ts';
import { messageClasses } from '../../../../src/delivery/terms/message.ts';
import type { Database } from '../../../../src/platform/db/database.ts';
import type { Queryable } from '../../../../src/platform/db/queryable.ts';
import type { PreparedStatement } from '../../../../src/platform/db/statements.ts';
import { claimRecipients, writeCampaign } from '../../../support/campaigns.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { send, testFlowSender, writeContact, writeFlow, writeRun } from '../../../support/flow-sends.ts';
import { insertAccount, insertSender, type QueuedAccount, queueEmails } from '../../../support/queued.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';
import { testKeyring } from '../../../support/webhooks.ts';

const OWNER = 71;

/** No mail to one domain. It decides for each message. */
const noMailToDomain = {
  name: 'no_mail_to_domain',
  title: 'the recipient has an address of the domain',
  plain: 'decided',
  condition: { reads: 'message', sql: `m.to_key like '%@example.com'` },
  handOver: { effect: 'release' },
} as const satisfies Limit;

/** No mail of one account. It decides for all messages of a block at once. */
const noMailOfAccount = {
  name: 'no_mail_of_account',
  title: 'the account is silent',
  plain: 'stands down',
  condition: { reads: 'account', sql: `a.name = 'Acme'` },
  handOver: { effect: 'release' },
} as const satisfies Limit;

let test: TestDatabase;
let database: Database;
let account: QueuedAccount;
let seq = 0;

beforeAll(async () => {
  test = await createTestDatabase({ keyedPlans: true });
  ({ database } = test);
  await insertSender(database, OWNER);
});
afterAll(() => test.drop());
beforeEach(async () => {
  account = await insertAccount(database);
  await database.pool.query('delete from handovers');
});

/** A connection on which the statements obey one more limit. */
function withLimit(limit: Limit): Queryable {
  const more = (table: Limits) => [...table, limit];
  const statements = new Map<unknown, PreparedStatement>([
    ...[intendMessagesSql, intendOfFlowsSql, intendRetriesSql].map(
      (each) => [each.name, each.filled(more(limits))] as const,
    ),
    [intendInBlockSql.name, intendInBlockSql.filled(more(blockLimits))],
  ]);
  return {
    query: ((query: PreparedStatement) =>
      database.pool.query({ ...query, ...statements.get(query.name) })) as Queryable['query'],
  };
}

const requestOf = <Claim>(claims: readonly Claim[]) => ({
  ...{ owner: OWNER, seq: ++seq, provider: 'smtp', keyring: testKeyring },
  claims,
});

async function claim(priority: number) {
  const { accountId } = account;
  const request = { channel: 'email', class: priority, accountId, owner: OWNER, quantum: 2 } as const;
  return claimBacklog(database.pool, request, TEST_LIMITS);
}

async function intendQueued(priority: number) {
  const claims = await claim(priority);
  return (client: Queryable) => intendMessages(client, requestOf(claims));
}

async function ofTransactional() {
  await queueEmails(database, account, 2);
  return intendQueued(messageClasses.transactional);
}

async function ofFlow() {
  const { flowId, steps } = await writeFlow(database, account);
  for (const email of ['c1@example.com', 'c2@example.com']) {
    const contactId = await writeContact(database, account, { email });
    await send(database, testFlowSender(), await writeRun(database, account, flowId, contactId), steps[0]);
  }
  return intendQueued(messageClasses.flow);
}

async function ofRetries() {
  const { campaignId } = await writeCampaign(database, account, { recipients: 2 });
  await database.pool.query(
    `insert into send_queue (message_id, account_id, channel, class, due_at, queued_at, attempt_count, provider_id,
       campaign_id)
     select id, account_id, channel, class, now(), created_at, 1, 0, campaign_id from messages where campaign_id = $1`,
    [campaignId],
  );
  return intendQueued(messageClasses.campaign);
}

async function ofBlock() {
  await writeCampaign(database, account, { recipients: 2 });
  const claims = await claimRecipients(database, { accountId: account.accountId, owner: OWNER });
  const block = claims[0]?.block;
  if (!block) throw new Error('no claims');
  return (client: Queryable) => intendBlock(client, requestOf(claims), block);
}

async function countIntents() {
  const { rows } = await database.pool.query('select from handovers');
  return rows.length;
}

describe.each([
  ['transactional messages', ofTransactional],
  ['messages of a flow', ofFlow],
  ['retries of a campaign', ofRetries],
  ['a block of a campaign', ofBlock],
])('an intent of %s', (_what, prepare) => {
  it.each([noMailToDomain, noMailOfAccount])('obeys the limit $name', async (limit) => {
    const intend = await prepare();
    const refused = await intend(withLimit(limit));
    expect(refused.map(({ verdict }) => verdict)).toEqual([limit.name, limit.name]);
    expect(await countIntents()).toBe(0);
    const allowed = await intend(database.pool);
    expect(allowed.map(({ verdict }) => verdict)).toEqual(['send', 'send']);
    expect(await countIntents()).toBe(1);
  });
});

it('refuses claims of several classes, because each class has other rules', async () => {
  await queueEmails(database, account, 1);
  const [first] = await claim(messageClasses.transactional);
  if (!first) throw new Error('no claim');
  const claims = [first, { ...first, class: messageClasses.flow }];
  await expect(intendMessages(database.pool, requestOf(claims))).rejects.toThrow('claims of one class');
  expect(await countIntents()).toBe(0);
});
