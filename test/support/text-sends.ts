/** SMS of campaigns and flows of one account, from the claim to the record of their outcomes. */
import { expect } from '@jest/globals';
import { cancelCampaignMessages, requeueUnknown } from '../../src/delivery/ledger/blocks/campaign-blocks.ts';
import { recordFacts } from '../../src/delivery/ledger/facts/facts.ts';
import { messageClasses } from '../../src/delivery/terms/message.ts';
import type { HandOverOutcome } from '../../src/delivery/terms/hand-over-outcome.ts';
import type { BatchMessage } from '../../src/delivery/ledger/intend/batch.ts';
import { intendBlock } from '../../src/delivery/ledger/intend/block-batch.ts';
import { endBlockClaim } from '../../src/delivery/ledger/blocks/claimed-blocks.ts';
import { intendMessages } from '../../src/delivery/ledger/intend/queue-batch.ts';
import { claimBlock } from '../../src/delivery/ledger/blocks/claim-blocks.ts';
import { claimBacklog } from '../../src/delivery/ledger/claim/claim.ts';
import type { Claim } from '../../src/delivery/ledger/ownership/claims.ts';
import { recoverDeadSender } from '../../src/delivery/ledger/upkeep/dead-process.ts';
import { outcomeRecords, recordsOfBlock } from '../../src/delivery/ledger/record/outcomes.ts';
import { createBatchRecording } from '../../src/delivery/ledger/record/record.ts';
import type { Database } from '../../src/platform/db/database.ts';
import { inTransaction } from '../../src/platform/db/queryable.ts';
import { writeCampaign, type WrittenCampaign } from './campaigns.ts';
import { testEvents } from './events.ts';
import { send as sendStep, testFlowSender, writeContact, writeFlow, writeRun } from './flow-sends.ts';
import { monthsOf } from './money.ts';
import type { QueuedAccount } from './queued.ts';
import { TEST_LIMITS } from './sending.ts';
import { countedUsage, recountedUsage } from './usage.ts';
import { testKeyring } from './webhooks.ts';

const PROVIDER = 'relay';

let seq = 0;
let prefix = 0;
let phones = 0;

/** The next number in a country, which no other SMS of the test has. */
export const german = () => `+49151${String(10_000_000 + ++phones)}`;
export const american = () => `+1202555${String(1_000 + ++phones)}`;

/** The outcome of an SMS that took this many segments. */
export const took = (segments: number): HandOverOutcome => ({
  ...{ kind: 'accepted', providerMessageId: null, response: 'ok', delivered: false, segments },
});

/** The class of messages that are waiting in the queue. */
type Queued = 'flow' | 'campaign';

/** @param owner the sender */
export function createTexts(database: Database, account: QueuedAccount, owner: number) {
  const { pool } = database;
  const { accountId } = account;
  const query = (text: string, ...values: unknown[]) => pool.query(text, values);

  /** Writes an SMS campaign with one block. */
  async function campaignTo(numbers: readonly string[], segments = 3): Promise<WrittenCampaign> {
    const campaign = await writeCampaign(database, account, {
      ...{ recipients: numbers.length, blockSize: numbers.length, prefix: `t${++prefix}-` },
    });
    const { campaignId: id } = campaign;
    await query(
      `update template_versions set channel = 'sms', segments = $2 where id = $1`,
      ...[campaign.versionId, segments],
    );
    await query(`update campaigns set channel = 'sms' where id = $1`, id);
    await query(`update campaign_blocks set channel = 'sms' where campaign_id = $1`, id);
    await query(
      `update contacts set phone = p.phone, phone_subscribed = true, phone_created_at = now()
       from unnest($1::bigint[], $2::text[]) as p (id, phone) where contacts.id = p.id`,
      ...[campaign.contactIds, numbers],
    );
    await query(
      `update messages m set channel = 'sms', to_address = c.phone, to_key = c.phone from contacts c
       where c.id = m.contact_id and m.campaign_id = $1`,
      id,
    );
    return campaign;
  }

  /** Makes a run of a flow write an SMS. */
  async function flowTo(phone: string, segments = 3) {
    const { flowId, steps } = await writeFlow(database, account, [{ channel: 'sms' }]);
    await query('update template_versions set segments = $2 where account_id = $1', accountId, segments);
    await query(
      `insert into sms_senders (account_id, brand_id, sender, takes_replies) values ($1, $2, $3, true)
       on conflict do nothing`,
      ...[accountId, account.brandId, `+4930${accountId}`],
    );
    const contactId = await writeContact(database, account, { email: null, phone });
    const run = await writeRun(database, account, flowId, contactId);
    return sendStep(database, testFlowSender(), run, steps[0]);
  }

  const claimTexts = async (): Promise<Claim[]> => {
    const request = { channel: 'sms', accountId, providerId: 0, owner, messages: 1_000 } as const;
    return (await claimBlock(pool, request, TEST_LIMITS)).claims;
  };

  const claimQueued = (of: Queued): Promise<Claim[]> => {
    const request = { channel: 'sms', class: messageClasses[of], accountId, owner, quantum: 50 } as const;
    return claimBacklog(pool, request, TEST_LIMITS);
  };

  const intend = async (claims: readonly Claim[]) => {
    const request = { owner, seq: ++seq, provider: PROVIDER, claims, keyring: testKeyring };
    const block = claims[0]?.block;
    if (block) return { seq, block, messages: await intendBlock(pool, request, block) };
    return { seq, messages: await intendMessages(pool, request) };
  };

  /** Records the outcomes of the messages that left, twice, because the reply to the first record may be lost. */
  async function record(
    intended: Intended,
    outcomeOf: (message: BatchMessage, n: number) => HandOverOutcome,
    repeatable = false,
  ): Promise<void> {
    const leaving = leavingOf(intended);
    const outcomes = leaving.map(outcomeOf);
    const records = outcomeRecords(PROVIDER, intended.messages, outcomes, 0, repeatable);
    const { block } = intended;
    const batch = {
      ...{ owner, seq: intended.seq },
      ...(block ? { block, outcomes: recordsOfBlock(records, leaving, outcomes) } : { outcomes: records }),
    };
    const write = createBatchRecording({ pool, events: testEvents });
    await write([batch]);
    await write([batch]);
    if (block) await endBlockClaim(pool, owner, block);
  }

  /** Records a provider's reports about messages. Providers may report twice. */
  async function report(messages: readonly BatchMessage[], type: 'delivered' | 'failed'): Promise<void> {
    const facts = messages.map(({ messageId }) => ({
      ...{ accountId, messageId, type, occurredAt: new Date(), providerMessageId: null },
      source: { kind: 'callback' as const, provider: PROVIDER },
      ...{ response: null, bounce: null, suppresses: false },
      failure: type === 'failed' ? { code: 'rejected' as const, message: 'no' } : null,
    }));
    await inTransaction(pool, (trx) => recordFacts(trx, facts, testEvents));
    await inTransaction(pool, (trx) => recordFacts(trx, facts, testEvents));
  }

  /** Recovers the sender as if it were dead. */
  const recover = () => inTransaction(pool, (trx) => recoverDeadSender(trx, owner));

  /** Queues the campaign's SMS without a known outcome again. */
  const resend = ({ campaignId }: WrittenCampaign) =>
    inTransaction(pool, (trx) => requeueUnknown(trx, campaignId, 100));

  /** Ends a campaign: its blocks return their reservations. */
  async function cancel({ campaignId }: WrittenCampaign): Promise<void> {
    await query(`update campaigns set status = 'completed' where id = $1`, campaignId);
    // The first page has the retries, and the next ones the blocks.
    for (let page = 0; page < 3; page += 1) {
      await inTransaction(pool, (trx) => cancelCampaignMessages(trx, campaignId, 100));
    }
  }

  return { campaignTo, flowTo, claimTexts, claimQueued, intend, record, report, recover, resend, cancel };
}

export type Texts = ReturnType<typeof createTexts>;

/** Messages under an intent. */
export type Intended = Awaited<ReturnType<Texts['intend']>>;

/** The messages to be handed over. */
export const leavingOf = ({ messages }: Pick<Intended, 'messages'>) =>
  messages.filter(({ verdict }) => verdict === 'send');

/** The charges for an account's SMS, and its counted usage, must equal the sums over its messages. */
export async function expectTextsCharged(
  { pool }: Pick<Database, 'pool'>,
  account: QueuedAccount,
  segments: number,
  price: number,
): Promise<void> {
  expect(await monthsOf({ pool }, account)).toMatchObject({ texts: segments, spent: segments * price });
  const counted = await countedUsage(pool, account.accountId);
  expect(counted).toEqual((await recountedUsage(pool, account.accountId)).filter(({ sms }) => sms > 0));
  expect(counted.reduce((sum, { sms }) => sum + sms, 0)).toBe(segments);
}
