// The fast record of a fully accepted batch has the same effects as the general record.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { HandOverOutcome } from '../../../../src/delivery/terms/hand-over-outcome.ts';
import { intendBlock } from '../../../../src/delivery/ledger/intend/block-batch.ts';
import { outcomeRecords, recordsOfBlock } from '../../../../src/delivery/ledger/record/outcomes.ts';
import { createBatchRecording, type BatchRecord } from '../../../../src/delivery/ledger/record/record.ts';
import { divideSent } from '../../../../src/delivery/ledger/record/record-sent.ts';
import type { Database } from '../../../../src/platform/db/database.ts';
import {
  blocksOf,
  claimRecipients,
  writeCampaign,
  type WrittenCampaign,
} from '../../../support/campaigns.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { testEvents } from '../../../support/events.ts';
import { insertAccount, insertSender, type QueuedAccount } from '../../../support/queued.ts';
import { statSums } from '../../../support/stats.ts';
import { testKeyring } from '../../../support/webhooks.ts';

const OWNER = 70;
const RECIPIENTS = 10;

let test: TestDatabase;
/** Plans statements as a sender's database does. */
let database: Database;
let account: QueuedAccount;
let campaign: WrittenCampaign;
let seq = 0;
let prefix = 0;

beforeAll(async () => {
  test = await createTestDatabase({ keyedPlans: true });
  ({ database } = test);
  await insertSender(database, OWNER);
});
afterAll(() => test.drop());
beforeEach(async () => {
  account = await insertAccount(database);
  campaign = await writeCampaign(database, account, { recipients: RECIPIENTS, prefix: `c${++prefix}-` });
});

const accepted = (n: number): HandOverOutcome => ({
  kind: 'accepted',
  providerMessageId: `id "${n}", with {marks}`,
  response: `250 OK ${n}`,
  delivered: false,
});
const deferred: HandOverOutcome = { kind: 'deferred', response: '450 later' };

const record = (batch: BatchRecord) =>
  createBatchRecording({ pool: database.pool, events: testEvents })([batch]);

async function handOver(messages: number, outcomeOf: (n: number) => HandOverOutcome): Promise<BatchRecord> {
  const claims = await claimRecipients(database, { accountId: account.accountId, owner: OWNER });
  const block = claims[0]?.block;
  if (!block) throw new Error('no claims');
  const intent = { owner: OWNER, seq: ++seq, provider: 'smtp', keyring: testKeyring };
  const leaving = await intendBlock(database.pool, { ...intent, claims: claims.slice(0, messages) }, block);
  const outcomes = leaving.map((_, n) => outcomeOf(n));
  const records = outcomeRecords('smtp', leaving, outcomes);
  return { owner: OWNER, seq, block, outcomes: recordsOfBlock(records, leaving, outcomes) };
}

async function rowsOf(sql: string): Promise<Record<string, unknown>[]> {
  const { rows } = await database.pool.query<Record<string, unknown>>(sql, [account.accountId]);
  return rows;
}

/** What a record has stored about the first messages, without ids. */
async function effects(messages: number) {
  const ids = campaign.messageIds.slice(0, messages);
  const { rows: sent } = await database.pool.query<Record<string, unknown>>(
    `select status, attempt_count, provider, provider_message_id, sent_attempt, response, failure, hold,
       sent_at = updated_at as now, content_version_id = $2 as of_version
     from messages where id = any($1) order by id`,
    [ids, campaign.versionId],
  );
  const { rows: engaged } = await database.pool.query(
    `select e.kind, e.created_at = m.sent_at as now from messages m
     join contact_engagement e on e.message_id = m.id and e.contact_id = m.contact_id and e.brand_id = m.brand_id
     where m.id = any($1) order by m.id`,
    [ids],
  );
  const { rows: counts } = await database.pool.query(
    `select c.channel, c.sent_count, c.fail_count from messages m join contact_channel_counts c using (contact_id)
     where m.id = any($1) order by m.id`,
    [ids],
  );
  const { rows: events } = await database.pool.query(
    'select message_id, attempt, type, data from message_events where message_id = any($1) order by message_id',
    [ids],
  );
  return { sent, engaged, counts, events };
}

const totals = async () => ({
  account: await rowsOf(
    `select sum(email_sent)::int as email_sent, sum(sms_sent)::int as sms_sent, sum(email_used)::int as email_used
     from usage_changes where account_id = $1`,
  ),
  figures: await statSums(database.pool, account.brandId),
  outcomes: await rowsOf(
    'select attempted, hard_bounces, complaints from account_outcomes where account_id = $1',
  ),
  blocks: (await blocksOf(database, campaign.campaignId)).map(({ reserved, recount, claim_epoch }) => ({
    ...{ reserved, recount, claim_epoch },
  })),
});

const intents = async () =>
  (await database.pool.query('select 1 from handovers where owner = $1', [OWNER])).rowCount;

describe('a batch of a block in which all messages were accepted', () => {
  it('has the same effects as a batch in which one message is deferred', async () => {
    const whole = await handOver(5, accepted);
    expect(divideSent([whole]).others).toEqual([]);
    await record(whole);
    const expected = { ...(await effects(5)), totals: await totals() };
    expect(expected.sent).toHaveLength(5);
    expect(expected.engaged).toHaveLength(5);
    expect(expected.counts).toHaveLength(5);
    expect(expected.totals.figures).toEqual({ sent: 5 });
    expect(expected.events).toEqual([]);

    account = await insertAccount(database);
    campaign = await writeCampaign(database, account, { recipients: RECIPIENTS, prefix: `d${prefix}-` });
    const mixed = await handOver(6, (n) => (n === 5 ? deferred : accepted(n)));
    expect(divideSent([mixed]).sent).toEqual([]);
    await record(mixed);
    const [block] = expected.totals.blocks;
    // The deferred message has kept its place.
    const blocks = [{ ...block, reserved: (block?.reserved ?? 0) - 1 }];
    expect({ ...(await effects(5)), totals: await totals() }).toEqual({
      ...expected,
      totals: { ...expected.totals, blocks },
    });
    expect(await intents()).toBe(0);
  });

  it('changes nothing when it is recorded again', async () => {
    const batch = await handOver(5, accepted);
    await record(batch);
    const before = [await effects(5), await totals()];
    await record(batch);
    expect([await effects(5), await totals()]).toEqual(before);
  });

  it('stores the event of an attempt whose message already has another outcome', async () => {
    const batch = await handOver(2, accepted);
    const [first] = campaign.messageIds;
    await database.pool.query(
      `update messages set status = 'bounced', sent_at = now(), sent_attempt = 7 where id = $1`,
      [first],
    );
    await record(batch);
    const { sent, events, engaged } = await effects(2);
    expect(sent).toMatchObject([{ status: 'bounced', sent_attempt: 7 }, { status: 'sent' }]);
    expect(events).toEqual([
      { message_id: first, attempt: 1, type: 'sent', data: { provider: 'smtp', response: '250 OK 0' } },
    ]);
    expect(engaged).toHaveLength(1);
    expect((await totals()).blocks).toMatchObject([{ reserved: RECIPIENTS - 2 }]);
  });

  it('leaves out deleted contacts, with their counts', async () => {
    await record(await handOver(2, accepted));
    const [first] = campaign.contactIds;
    await database.pool.query('delete from contacts where id = $1', [first]);
    const { sent, counts } = await effects(2);
    expect(sent).toHaveLength(2);
    expect(counts).toHaveLength(1);
  });
});
