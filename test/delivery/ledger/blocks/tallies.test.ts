// Campaign counts stay correct if outcomes are recorded while blocks are counted.
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { campaignCounts } from '../../../../src/features/campaigns/campaign-counts.ts';
import { recountBlocks } from '../../../../src/delivery/ledger/blocks/tallies.ts';
import type { HandOverOutcome } from '../../../../src/delivery/terms/hand-over-outcome.ts';
import { endBlockClaim } from '../../../../src/delivery/ledger/blocks/claimed-blocks.ts';
import { intendMessages } from '../../../../src/delivery/ledger/intend/queue-batch.ts';
import { intendBlock } from '../../../../src/delivery/ledger/intend/block-batch.ts';
import { claimBacklog } from '../../../../src/delivery/ledger/claim/claim.ts';
import type { Claim } from '../../../../src/delivery/ledger/ownership/claims.ts';
import { recoverDeadSender } from '../../../../src/delivery/ledger/upkeep/dead-process.ts';
import { outcomeRecords, recordsOfBlock } from '../../../../src/delivery/ledger/record/outcomes.ts';
import { type BatchRecord, createBatchRecording } from '../../../../src/delivery/ledger/record/record.ts';
import type { Database } from '../../../../src/platform/db/database.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import {
  claimRecipients,
  writeCampaign,
  type WrittenCampaign,
  wrongTallies,
} from '../../../support/campaigns.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { eventually } from '../../../support/eventually.ts';
import { testEvents } from '../../../support/events.ts';
import { insertAccount, insertSender, type QueuedAccount } from '../../../support/queued.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';
import { testKeyring } from '../../../support/webhooks.ts';

const OWNER = 70;
const OTHER = 71;
const BLOCKS = 20;
const SENT_BLOCKS = 3;
const BLOCK = 10;

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
  await insertSender(database, OTHER);
});
afterAll(() => test.drop());
beforeEach(async () => {
  account = await insertAccount(database);
  const size = { recipients: BLOCKS * BLOCK, blockSize: BLOCK };
  campaign = await writeCampaign(database, account, { ...size, prefix: `r${++prefix}-` });
  // Plans depend on the number of blocks.
  await database.pool.query('analyze campaign_blocks');
});

const accepted: HandOverOutcome = {
  ...{ kind: 'accepted', providerMessageId: null, response: '250 OK' },
  delivered: false,
};
const deferred: HandOverOutcome = { kind: 'deferred', response: '450 later' };

const record = (...batches: BatchRecord[]) =>
  createBatchRecording({ pool: database.pool, events: testEvents })(batches);

const die = () => inTransaction(database.pool, (trx) => recoverDeadSender(trx, OWNER));

const claim = (owner = OWNER, messages = 1_000) =>
  claimRecipients(database, { accountId: account.accountId, owner, messages });

const requestOf = (claims: readonly Claim[], owner = OWNER) => ({
  ...{ owner, seq: ++seq, provider: 'smtp', claims, keyring: testKeyring },
});

function blockOf([first]: readonly Claim[]) {
  if (!first?.block) throw new Error('no claims');
  return first.block;
}

/** Writes an intent. @returns the record of its outcomes */
async function handOver(
  claims: readonly Claim[],
  outcomeOf: (n: number) => HandOverOutcome,
  owner = OWNER,
): Promise<BatchRecord> {
  const request = requestOf(claims, owner);
  const block = blockOf(claims);
  const messages = await intendBlock(database.pool, request, block);
  const outcomes = messages.map((_, n) => outcomeOf(n));
  const records = recordsOfBlock(outcomeRecords('smtp', messages, outcomes), messages, outcomes);
  return { owner, seq: request.seq, block, outcomes: records };
}

async function handOverRetries(): Promise<BatchRecord> {
  await database.pool.query('update send_queue set due_at = now() where campaign_id = $1', [
    campaign.campaignId,
  ]);
  const request = { channel: 'email' as const, class: 2, accountId: account.accountId, owner: OWNER };
  const retries = await claimBacklog(database.pool, { ...request, quantum: 50 }, TEST_LIMITS);
  const intent = requestOf(retries);
  const messages = await intendMessages(database.pool, intent);
  const outcomes = messages.map(() => accepted);
  return { owner: OWNER, seq: intent.seq, outcomes: outcomeRecords('smtp', messages, outcomes) };
}

/** Sends the first blocks, with two messages of each to be retried, and counts them. */
async function sendBlocks(): Promise<void> {
  for (let n = 0; n < SENT_BLOCKS; n += 1) {
    const claims = await claim();
    await record(await handOver(claims, (m) => (m < 2 ? deferred : accepted)));
    await endBlockClaim(database.pool, OWNER, blockOf(claims));
  }
  await recountBlocks(database.pool, campaign.campaignId);
}

/** Runs work that waits for blocks until the transaction that counts them commits. */
async function whileCounted(work: () => Promise<unknown>): Promise<void> {
  const { working } = await inTransaction(database.pool, async (trx) => {
    await trx.query(
      'update campaign_blocks set recount = false where campaign_id = $1 and closed_at is not null',
      [campaign.campaignId],
    );
    const begun = work();
    await eventually(async () => {
      const { rowCount } = await database.pool.query(
        `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      expect(rowCount).toBe(1);
    });
    return { working: begun };
  });
  await working;
}

async function expectCounts(expected: Record<string, number>): Promise<void> {
  const { campaignId } = campaign;
  expect((await campaignCounts(database.pool, [campaignId])).get(campaignId)).toMatchObject(expected);
  expect(await wrongTallies(database, campaignId)).toEqual([]);
}

it('marks each block in which a retry gets an outcome during a count', async () => {
  await sendBlocks();
  await expectCounts({ sent: 24, remaining: 176 });
  const retries = await handOverRetries();
  await whileCounted(() => record(retries));
  await expectCounts({ sent: 30, remaining: 170 });
});

it('marks these blocks, and the block of a batch in the same record', async () => {
  await sendBlocks();
  const batch = await handOver(await claim(), (n) => (n < 2 ? deferred : accepted));
  const retries = await handOverRetries();
  await whileCounted(() => record(batch, retries));
  await expectCounts({ sent: 38, remaining: 162 });
});

it('marks each block whose retries a dead sender leaves unknown during a count', async () => {
  await sendBlocks();
  await handOverRetries();
  await whileCounted(die);
  await expectCounts({ sent: 24, unknown: 6, remaining: 170 });
});

it.each([
  { title: 'that were all accepted', refused: 0 },
  { title: 'of which one was refused', refused: 1 },
])('counts late outcomes $title in the part of a divided block that contains them', async ({ refused }) => {
  const late = await handOver((await claim()).slice(5), (n) =>
    n < refused ? { kind: 'refused', code: 'rejected', response: '554 no' } : accepted,
  );
  await die();
  // Another sender takes a part of the block, and then the rest, in which the messages lie.
  for (const messages of [3, 1_000]) {
    await database.pool.query(
      `update campaign_blocks set due_at = now() - interval '1 hour' where campaign_id = $1 and (n = 0 or n < 0)`,
      [campaign.campaignId],
    );
    const claims = await claim(OTHER, messages);
    await record(await handOver(claims, () => accepted, OTHER));
    await endBlockClaim(database.pool, OTHER, blockOf(claims));
  }
  await recountBlocks(database.pool, campaign.campaignId);
  await expectCounts({ sent: 5, unknown: 5 });
  await record(late);
  await expectCounts({ sent: 10 - refused, failed: refused, unknown: 0 });
});
