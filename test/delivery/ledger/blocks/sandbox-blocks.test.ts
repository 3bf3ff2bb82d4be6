// A campaign from the sandbox never takes more than the month's cap, and counts each recipient once.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { cancelCampaignMessages } from '../../../../src/delivery/ledger/blocks/campaign-blocks.ts';
import type { HandOverOutcome } from '../../../../src/delivery/terms/hand-over-outcome.ts';
import { intendMessages } from '../../../../src/delivery/ledger/intend/queue-batch.ts';
import { intendBlock } from '../../../../src/delivery/ledger/intend/block-batch.ts';
import { endBlockClaim } from '../../../../src/delivery/ledger/blocks/claimed-blocks.ts';
import { claimBacklog } from '../../../../src/delivery/ledger/claim/claim.ts';
import type { Claim } from '../../../../src/delivery/ledger/ownership/claims.ts';
import { recoverDeadSender } from '../../../../src/delivery/ledger/upkeep/dead-process.ts';
import { outcomeRecords, recordsOfBlock } from '../../../../src/delivery/ledger/record/outcomes.ts';
import { createBatchRecording } from '../../../../src/delivery/ledger/record/record.ts';
import { whyUnsendable } from '../../../../src/features/campaigns/run/unsendable-blocks.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import {
  blocksOf,
  claimRecipients,
  writeCampaign,
  type WrittenCampaign,
} from '../../../support/campaigns.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { insertVerifiedDomain } from '../../../support/domains.ts';
import { testEvents } from '../../../support/events.ts';
import { runBehindLock, waitForLocks } from '../../../support/lock-order.ts';
import { insertAccount, insertSender, type QueuedAccount } from '../../../support/queued.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';
import { testKeyring } from '../../../support/webhooks.ts';

const OWNER = 80;
const OTHER = 81;
const CAP = 25;

let test: TestDatabase;
let account: QueuedAccount;
let campaign: WrittenCampaign;
let seq = 0;
let prefix = 0;

beforeAll(async () => {
  test = await createTestDatabase({ poolMax: 6 });
  await insertSender(test.database, OWNER);
  await insertSender(test.database, OTHER);
});
afterAll(() => test.drop());
beforeEach(async () => {
  account = await insertAccount(test.database);
  await setCap(CAP);
  campaign = await write();
});

const query = <Row extends object>(text: string, ...values: unknown[]) =>
  test.database.pool.query<Row>(text, values).then(({ rows }) => rows);
const setCap = (cap: number) =>
  query('update accounts set sandbox_monthly_cap = $2 where id = $1', account.accountId, cap);
const write = (domainId?: number) =>
  writeCampaign(test.database, account, {
    ...{ recipients: 20, blockSize: 10, prefix: `s${++prefix}-` },
    ...(domainId === undefined ? {} : { domainId }),
  });

const claim = (owner = OWNER, messages = 1_000) =>
  claimRecipients(test.database, { accountId: account.accountId, owner, messages });

const requestOf = (claims: readonly Claim[], owner = OWNER) => ({
  ...{ owner, seq: ++seq, provider: 'smtp', claims, keyring: testKeyring },
});
const blockOf = (claims: readonly Claim[]) => claims[0]?.block ?? { campaignId: 0, n: 0, epoch: 0 };
const recordBatches = () => createBatchRecording({ pool: test.database.pool, events: testEvents });

const accepted: HandOverOutcome = {
  ...{ kind: 'accepted', providerMessageId: null, response: '250 OK', delivered: false },
};

async function send(
  claims: readonly Claim[],
  outcomeOf: (n: number) => HandOverOutcome = () => accepted,
  owner = OWNER,
): Promise<void> {
  const request = requestOf(claims, owner);
  const block = blockOf(claims);
  const messages = await intendBlock(test.database.pool, request, block);
  const leaving = messages.filter(({ verdict }) => verdict === 'send');
  const outcomes = leaving.map((_, n) => outcomeOf(n));
  const records = outcomeRecords('smtp', messages, outcomes);
  await recordBatches()([
    { owner, seq: request.seq, block, outcomes: recordsOfBlock(records, leaving, outcomes) },
  ]);
}

const end = (claims: readonly Claim[], owner = OWNER) =>
  endBlockClaim(test.database.pool, owner, blockOf(claims));
const blocks = () => blocksOf(test.database, campaign.campaignId);

async function used(): Promise<number> {
  const [row] = await query<{ used: number }>(
    'select coalesce(sum(used), 0)::int as used from sandbox_usage where account_id = $1',
    account.accountId,
  );
  return row?.used ?? 0;
}

describe('a claim', () => {
  it('counts the recipients of its block in the month', async () => {
    expect(await claim()).toHaveLength(10);
    expect(await used()).toBe(10);
    expect(await claim(OTHER)).toHaveLength(10);
    expect(await used()).toBe(20);
  });

  it('divides a block that does not fit, and holds the rest', async () => {
    await setCap(13);
    expect(await claim()).toHaveLength(10);
    const last = await claim();
    expect(last.map(({ messageId }) => messageId)).toEqual(campaign.messageIds.slice(10, 13));
    expect(await claim()).toEqual([]);
    expect(await used()).toBe(13);
    expect(await blocks()).toMatchObject([
      { size: 10, owner: OWNER, hold_reason: null },
      { size: 3, owner: OWNER, hold_reason: null },
      { size: 7, owner: null, hold_reason: 'sandbox_cap' },
    ]);
    expect(await whyUnsendable(test.database.pool, campaign.campaignId, new Date())).toBe(
      'sandbox_limit_reached',
    );
  });

  it('shares the cap with POST /messages, which counts while the claim runs', async () => {
    await setCap(12);
    const upsert = `insert into sandbox_usage as u (account_id, month, used)
      values ($1, date_trunc('month', now() at time zone 'utc')::date, 5)
      on conflict (account_id, month) do update set used = u.used + 5`;
    let claiming: Promise<Claim[]> | undefined;
    await inTransaction(test.database.pool, async (trx) => {
      await trx.query(upsert, [account.accountId]);
      claiming = claim();
      await waitForLocks(test.database.pool, () => 1);
    });
    expect(await claiming).toEqual([]);
    expect(await used()).toBe(5);
    expect(await claim()).toHaveLength(7);
    expect(await used()).toBe(12);
  });

  it('does not count mail from a domain of the account', async () => {
    await query(
      'update campaign_blocks set due_at = $2 where campaign_id = $1',
      campaign.campaignId,
      'infinity',
    );
    const domainId = await insertVerifiedDomain(test.database, account, `s${prefix}.test`);
    await write(domainId);
    expect(await claim()).toHaveLength(10);
    expect(await used()).toBe(0);
  });
});

/** Moves all reservations of the account to the previous month. */
async function passMonth(): Promise<void> {
  const { accountId } = account;
  await query(`update sandbox_usage set month = month - interval '1 month' where account_id = $1`, accountId);
  await query(
    `update campaign_blocks set sandbox_month = sandbox_month - interval '1 month' where account_id = $1`,
    accountId,
  );
}

/** How much of the caps is used, the earliest month first. */
const usedByMonth = async () =>
  (
    await query<{ used: number }>(
      'select used from sandbox_usage where account_id = $1 order by month',
      account.accountId,
    )
  ).map((row) => row.used);

describe('a block that waits until the next month', () => {
  it('counts in the month in which it is claimed again', async () => {
    const claims = await claim();
    await send(claims.slice(0, 2));
    await end(claims);
    await passMonth();
    expect(await usedByMonth()).toEqual([10]);
    const again = await claim(OTHER);
    expect(again).toHaveLength(8);
    expect(await usedByMonth()).toEqual([2, 8]);
    await send(again, () => accepted, OTHER);
    await end(again, OTHER);
    expect(await usedByMonth()).toEqual([2, 8]);
  });

  it('is divided at the cap of that month, and its rest counts when it is claimed', async () => {
    const claims = await claim();
    await end(claims);
    await passMonth();
    await setCap(6);
    const again = await claim(OTHER);
    expect(again).toHaveLength(6);
    expect(await usedByMonth()).toEqual([0, 6]);
    expect(await claim(OTHER)).toEqual([]);
    await setCap(8);
    await query('update campaign_blocks set due_at = now() where hold_reason is not null');
    expect(await claim(OTHER)).toHaveLength(2);
    expect(await usedByMonth()).toEqual([0, 8]);
  });

  it('is held while the cap of that month is used up', async () => {
    await end(await claim());
    await passMonth();
    await query(
      `insert into sandbox_usage (account_id, month, used)
       values ($1, date_trunc('month', now() at time zone 'utc')::date, $2)`,
      ...[account.accountId, CAP],
    );
    expect(await claim()).toEqual([]);
    expect(await usedByMonth()).toEqual([10, CAP]);
    expect((await blocks()).map(({ hold_reason }) => hold_reason)).toEqual(['sandbox_cap', 'sandbox_cap']);
  });
});

it('a claim and the end of another one do not deadlock', async () => {
  await query('update contacts set email_subscribed = false where id = any($1)', campaign.contactIds);
  const claims = await claim();
  await send(claims);
  await runBehindLock(
    test.database.pool,
    {
      lock: 'select 1 from allowance_buckets where account_id = $1 for update',
      values: [account.accountId],
    },
    [() => end(claims), () => claim(OTHER)],
  );
  expect(await used()).toBe(10);
});

describe('a recipient is counted once', () => {
  it('when its block is claimed again, and divided meanwhile', async () => {
    const claims = await claim();
    await send(claims, (n) => (n < 4 ? accepted : { kind: 'fault', reason: 'down' }));
    await end(claims);
    await setCap(10);
    const again = await claim(OTHER, 2);
    expect(again).toHaveLength(2);
    const rest = await claim(OTHER);
    expect(rest).toHaveLength(4);
    expect(await used()).toBe(10);
    await send(again, () => accepted, OTHER);
    await send(rest, () => accepted, OTHER);
    await end(again, OTHER);
    await end(rest, OTHER);
    expect(await used()).toBe(10);
    expect(await blocks()).toMatchObject([
      { closed: true, sandbox_reserved: 0 },
      { closed: true, sandbox_reserved: 0 },
      { closed: false },
    ]);
  });

  it('when its sender dies', async () => {
    const claims = await claim();
    await intendBlock(test.database.pool, requestOf(claims.slice(0, 3)), blockOf(claims));
    await inTransaction(test.database.pool, (trx) => recoverDeadSender(trx, OWNER));
    const others = await claim(OTHER);
    expect(others).toHaveLength(7);
    await send(others, () => accepted, OTHER);
    await end(others, OTHER);
    expect(await used()).toBe(10);
  });

  it('when it is retried from the queue', async () => {
    const claims = await claim();
    await send(claims, (n) => (n === 0 ? { kind: 'deferred', response: '450 later' } : accepted));
    await end(claims);
    await query('update send_queue set due_at = now() where campaign_id = $1', campaign.campaignId);
    const retries = await claimBacklog(
      test.database.pool,
      { channel: 'email', class: 2, accountId: account.accountId, owner: OWNER, quantum: 10 },
      TEST_LIMITS,
    );
    const batch = requestOf(retries);
    const messages = await intendMessages(test.database.pool, batch);
    await recordBatches()([
      { owner: OWNER, seq: batch.seq, outcomes: outcomeRecords('smtp', messages, [accepted]) },
    ]);
    expect(await used()).toBe(10);
  });
});

describe('what ends without an attempt', () => {
  it('returns if it could not be composed', async () => {
    const claims = await claim();
    await send(claims, (n) => (n < 3 ? { kind: 'not_composed', final: true, response: 'no' } : accepted));
    await end(claims);
    expect(await used()).toBe(7);
  });

  it('returns when its block closes, and a refusal by the provider does not', async () => {
    const [unsubscribed] = campaign.contactIds;
    await query('update contacts set email_subscribed = false where id = $1', unsubscribed);
    const claims = await claim();
    await send(claims, (n) => (n < 2 ? { kind: 'refused', code: 'rejected', response: '554 no' } : accepted));
    expect(await used()).toBe(10);
    await end(claims);
    expect(await used()).toBe(9);
  });

  it('returns when the campaign is canceled', async () => {
    const claims = await claim();
    await send(claims.slice(0, 2));
    await query(
      `update campaigns set status = 'completed', outcome = 'canceled' where id = $1`,
      campaign.campaignId,
    );
    const page = () =>
      inTransaction(test.database.pool, (trx) => cancelCampaignMessages(trx, campaign.campaignId, 1_000));
    while (!(await page()).done);
    expect(await used()).toBe(2);
  });
});
