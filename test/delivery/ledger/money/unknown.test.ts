// A message of a dead sender is charged once, and the charge returns only if the message was not sent.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  cancelCampaignMessages,
  requeueUnknown,
} from '../../../../src/delivery/ledger/blocks/campaign-blocks.ts';
import { recordFacts } from '../../../../src/delivery/ledger/facts/facts.ts';
import { messageClasses } from '../../../../src/delivery/terms/message.ts';
import type { HandOverOutcome } from '../../../../src/delivery/terms/hand-over-outcome.ts';
import { intendMessages } from '../../../../src/delivery/ledger/intend/queue-batch.ts';
import type { BatchMessage } from '../../../../src/delivery/ledger/intend/batch.ts';
import { intendBlock } from '../../../../src/delivery/ledger/intend/block-batch.ts';
import { claimBacklog } from '../../../../src/delivery/ledger/claim/claim.ts';
import type { Claim } from '../../../../src/delivery/ledger/ownership/claims.ts';
import { recoverDeadSender } from '../../../../src/delivery/ledger/upkeep/dead-process.ts';
import { outcomeRecords, recordsOfBlock } from '../../../../src/delivery/ledger/record/outcomes.ts';
import { createBatchRecording } from '../../../../src/delivery/ledger/record/record.ts';
import { deliveryUpkeep } from '../../../../src/delivery/ledger/upkeep/upkeep.ts';
import { postMonths } from '../../../../src/features/wallet/months.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import type { HousekeepingTask } from '../../../../src/platform/housekeeping/task.ts';
import { claimRecipients, writeCampaign } from '../../../support/campaigns.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { testEvents } from '../../../support/events.ts';
import { runTask } from '../../../support/housekeeping.ts';
import { waitForLocks } from '../../../support/lock-order.ts';
import { insertPayer, monthsOf, setPrice, wrongMonths } from '../../../support/money.ts';
import { insertSender, queueEmails, type QueuedAccount } from '../../../support/queued.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';
import { testKeyring } from '../../../support/webhooks.ts';

const PRICE = 100;
const OWNER = 95;
const DAY_MS = 86_400_000;
const NOTHING = { emails: 0, free: 0, texts: 0, spent: 0 };

let test: TestDatabase;
let account: QueuedAccount;
let seq = 0;

beforeAll(async () => {
  test = await createTestDatabase();
  await insertSender(test.database, OWNER);
  await setPrice(test.database, PRICE);
});
afterAll(() => test.drop());
beforeEach(async () => {
  account = await insertPayer(test.database, { funds: 100 * PRICE });
});
// The recount includes all accounts, so clean up: a fault must fail only its own test.
afterEach(() => query('delete from account_months'));

const query = <Row extends object>(text: string, ...values: unknown[]) =>
  test.database.pool.query<Row>(text, values).then(({ rows }) => rows);

const accepted: HandOverOutcome = {
  kind: 'accepted',
  providerMessageId: null,
  response: '250',
  delivered: false,
};
const refused: HandOverOutcome = { kind: 'refused', code: 'rejected', response: '554 no' };
const bounced: HandOverOutcome = {
  kind: 'bounced',
  bounce: { type: 'soft', subtype: 'mailbox_full', diagnostic: 'full' },
  response: '552',
};
const deferred: HandOverOutcome = { kind: 'deferred', response: '450 later' };
const unknown: HandOverOutcome = { kind: 'unknown', reason: 'the connection was lost' };

/** Messages under an intent. */
interface Intended {
  messages: BatchMessage[];
  /** Records the same outcome for all of them, as often as it is called. */
  record(outcome: HandOverOutcome): Promise<unknown>;
}

async function intend(claims: readonly Claim[]): Promise<Intended> {
  const { pool } = test.database;
  const request = { owner: OWNER, seq: ++seq, provider: 'smtp', claims, keyring: testKeyring };
  const block = claims[0]?.block;
  const messages = block ? await intendBlock(pool, request, block) : await intendMessages(pool, request);
  const record = (outcome: HandOverOutcome) => {
    const outcomes = messages.map(() => outcome);
    const records = outcomeRecords('smtp', messages, outcomes);
    const batch = block
      ? { block, outcomes: recordsOfBlock(records, messages, outcomes) }
      : { outcomes: records };
    return createBatchRecording({ pool, events: testEvents })([{ owner: OWNER, seq: request.seq, ...batch }]);
  };
  return { messages, record };
}

async function claimQueue(priority: number): Promise<Intended> {
  await query(
    'update send_queue set due_at = now() where account_id = $1 and owner is null',
    account.accountId,
  );
  const claims = await claimBacklog(
    test.database.pool,
    { channel: 'email', class: priority, accountId: account.accountId, owner: OWNER, quantum: 50 },
    TEST_LIMITS,
  );
  return intend(claims);
}

/** Four messages of a flow, handed over. */
async function flowMessages(): Promise<Intended> {
  await queueEmails(test.database, account, 4, { source: { class: messageClasses.flow, flow_id: 1 } });
  return claimQueue(messageClasses.flow);
}

let campaignId = 0;

/** Four recipients of a campaign's block, handed over. */
async function recipients(): Promise<Intended> {
  const options = { recipients: 4, blockSize: 4, prefix: `u${++seq}-` };
  ({ campaignId } = await writeCampaign(test.database, account, options));
  const claims = await claimRecipients(test.database, { accountId: account.accountId, owner: OWNER });
  return intend(claims);
}

const recover = () => inTransaction(test.database.pool, (trx) => recoverDeadSender(trx, OWNER));
const resend = () => inTransaction(test.database.pool, (trx) => requeueUnknown(trx, campaignId, 100));
const spent = async () => (await monthsOf(test.database, account)).spent;
const cancel = async () => {
  await query(`update campaigns set status = 'completed' where id = $1`, campaignId);
  // The first page has the retries, and the next ones the blocks.
  for (let page = 0; page < 3; page += 1) {
    await inTransaction(test.database.pool, (trx) => cancelCampaignMessages(trx, campaignId, 100));
  }
};
const noFaults = async () => expect(await wrongMonths(test.database, PRICE)).toEqual([]);

/** Records that a report of the messages has come. */
const report = ({ messages }: Pick<Intended, 'messages'>, type: 'failed' | 'delivered') =>
  inTransaction(test.database.pool, (trx) =>
    recordFacts(
      trx,
      messages.map(({ messageId }) => ({
        ...{
          accountId: account.accountId,
          messageId,
          type,
          occurredAt: new Date(),
          providerMessageId: null,
        },
        source: { kind: 'mail' as const },
        ...{ response: null, bounce: null, suppresses: false },
        failure: type === 'failed' ? { code: 'rejected' as const, message: 'no' } : null,
      })),
      testEvents,
    ),
  );

describe.each([
  ['of a flow', flowMessages],
  ['of a block', recipients],
])('the charge for a message %s whose sender was taken for dead', (_of, handOver) => {
  it.each([
    ['refused', refused],
    ['bounced', bounced],
  ])('is returned once if the sender then records it as %s', async (_outcome, outcome) => {
    const { record } = await handOver();
    await recover();
    expect(await spent()).toBe(4 * PRICE);
    await noFaults();
    await record(outcome);
    expect(await monthsOf(test.database, account)).toEqual(NOTHING);
    // The reply to the record may be lost, and the reaper may run again.
    await record(outcome);
    await recover();
    expect(await monthsOf(test.database, account)).toEqual(NOTHING);
    expect(await query('select 1 from unknown_charges where account_id = $1', account.accountId)).toEqual([]);
    await noFaults();
  });

  it('stays if the sender then records it as accepted, whatever it records later', async () => {
    const { record } = await handOver();
    await recover();
    await record(accepted);
    await record(refused);
    expect(await spent()).toBe(4 * PRICE);
    await noFaults();
  });

  it('is returned if the sender records it as refused while the reaper recovers it', async () => {
    const { messages, record } = await handOver();
    let recording: Promise<unknown> = Promise.resolve();
    await inTransaction(test.database.pool, async (trx) => {
      await trx.query('select 1 from messages where id = $1 for no key update', [messages[0]?.messageId]);
      recording = record(refused);
      await waitForLocks(test.database.pool, () => 1);
      await recoverDeadSender(trx, OWNER);
    });
    await recording;
    expect(await monthsOf(test.database, account)).toEqual(NOTHING);
    await noFaults();
  });
});

it.each([
  ['is never heard of again', null],
  ['then records it as accepted', accepted],
  ['then records it as deferred', deferred],
])(
  'the charge for a delivered recipient stays if its sender dies before the record and %s',
  async (_how, late) => {
    const { messages, record } = await recipients();
    await report({ messages: messages.slice(0, 2) }, 'delivered');
    await recover();
    expect(await spent()).toBe(4 * PRICE);
    await noFaults();
    if (late) await record(late);
    await cancel();
    expect(await spent()).toBe(4 * PRICE);
    await noFaults();
  },
);

describe('a message of a flow whose sender was taken for dead, and that has left the queue', () => {
  const states = async () =>
    (
      await query<{ status: string }>(
        `select m.status from messages m left join send_queue q on q.message_id = m.id
         where m.account_id = $1 and q.message_id is null`,
        account.accountId,
      )
    ).map(({ status }) => status);
  const stayUnknown = async () => {
    expect(await states()).toEqual(Array.from({ length: 4 }, () => 'unknown'));
    expect(await spent()).toBe(4 * PRICE);
    await noFaults();
  };

  it.each<[string, HandOverOutcome]>([
    ['was deferred', deferred],
    ['lost its connection', { kind: 'lost', reason: 'reset' }],
  ])('stays unknown if the sender records that the attempt %s', async (_how, outcome) => {
    const { record } = await flowMessages();
    await recover();
    await record(outcome);
    await stayUnknown();
  });

  it('stays unknown if the sender records that while the reaper recovers it', async () => {
    const { messages, record } = await flowMessages();
    let recording: Promise<unknown> = Promise.resolve();
    await inTransaction(test.database.pool, async (trx) => {
      await trx.query('select 1 from messages where id = $1 for no key update', [messages[0]?.messageId]);
      recording = record(deferred);
      await waitForLocks(test.database.pool, () => 1);
      await recoverDeadSender(trx, OWNER);
    });
    await recording;
    await stayUnknown();
  });
});

describe('the charge for a recipient who is retried', () => {
  it('is the only one if the sender that was taken for dead records that the attempt was deferred', async () => {
    const { record } = await recipients();
    await recover();
    await record(deferred);
    await record(deferred);
    await noFaults();
    const again = await claimQueue(messageClasses.campaign);
    expect(again.messages).toHaveLength(4);
    await again.record(accepted);
    expect(await spent()).toBe(4 * PRICE);
    await noFaults();
  });

  it('is the only one if that sender lost its connection with one message', async () => {
    const { record } = await recipients();
    await recover();
    await record({ kind: 'lost', reason: 'reset' });
    const again = await claimQueue(messageClasses.campaign);
    await again.record(accepted);
    expect(await spent()).toBe(4 * PRICE);
    await noFaults();
  });

  it.each([
    ['refused', refused, 0],
    ['unknown once more', unknown, 4],
    ['accepted', accepted, 4],
  ])('is right after an unknown attempt if the next is %s', async (_outcome, outcome, charged) => {
    const { record } = await recipients();
    await record(unknown);
    await resend();
    const again = await claimQueue(messageClasses.campaign);
    await again.record(outcome);
    await again.record(outcome);
    expect(await spent()).toBe(charged * PRICE);
    await noFaults();
  });
});

describe('an unknown message of a month that is posted', () => {
  const run = (task: HousekeepingTask, asOf: Date) => runTask(test.database, task, asOf);

  /** Moves the charges to the month before last, posts it, and runs housekeeping for the following days. */
  async function post(): Promise<void> {
    const earlier = `(current_month() - interval '2 months')::date`;
    await query(`update account_months set month = ${earlier} where account_id = $1`, account.accountId);
    await query(`update unknown_charges set month = ${earlier} where account_id = $1`, account.accountId);
    await run(postMonths, new Date());
    for (const task of (deliveryUpkeep.tasks ?? []).filter(({ name }) => name === 'unknown_charges')) {
      await run(task, new Date(Date.now() + 3 * DAY_MS));
    }
  }

  const balance = async () => {
    const [row] = await query<{ entries: number; open: number }>(
      `select entries_millicents as entries,
         coalesce((select sum(spent_millicents) from account_months
           where account_id = $1 and posted_at is null), 0)::int as open
       from wallets where account_id = $1`,
      account.accountId,
    );
    return { ...row, entries: (row?.entries ?? 0) - 100 * PRICE };
  };

  it('returns its charge in the current month, once, if a report shows that it was not sent', async () => {
    const intended = await flowMessages();
    await intended.record(unknown);
    await post();
    await report(intended, 'failed');
    await report(intended, 'failed');
    expect(await balance()).toEqual({ entries: -4 * PRICE, open: -4 * PRICE });
    await noFaults();
  });

  it('returns its charge in the current month, once, if its sender records that it was refused', async () => {
    const intended = await flowMessages();
    await recover();
    await post();
    await intended.record(refused);
    await intended.record(refused);
    expect(await balance()).toEqual({ entries: -4 * PRICE, open: -4 * PRICE });
    await noFaults();
  });

  it('stays charged there if it was delivered, and its stored charge is deleted', async () => {
    const intended = await flowMessages();
    await intended.record(unknown);
    await report(intended, 'delivered');
    await post();
    expect(await balance()).toEqual({ entries: -4 * PRICE, open: 0 });
    expect(await query('select 1 from unknown_charges where account_id = $1', account.accountId)).toEqual([]);
    await noFaults();
  });
});
