/** A sender whose batches get the outcomes that a test chooses, without a provider. */
import { messageClasses } from '../../src/delivery/terms/message.ts';
import { claimBlock } from '../../src/delivery/ledger/blocks/claim-blocks.ts';
import type { DeliveryFact } from '../../src/delivery/ledger/facts/delivery-fact.ts';
import { recordFacts } from '../../src/delivery/ledger/facts/facts.ts';
import type { HandOverOutcome } from '../../src/delivery/terms/hand-over-outcome.ts';
import { claimBacklog } from '../../src/delivery/ledger/claim/claim.ts';
import { recoverDeadSender } from '../../src/delivery/ledger/upkeep/dead-process.ts';
import { intendMessages } from '../../src/delivery/ledger/intend/queue-batch.ts';
import { intendBlock } from '../../src/delivery/ledger/intend/block-batch.ts';
import { outcomeRecords, recordsOfBlock } from '../../src/delivery/ledger/record/outcomes.ts';
import { type BatchRecord, createBatchRecording } from '../../src/delivery/ledger/record/record.ts';
import type { Database } from '../../src/platform/db/database.ts';
import { inTransaction } from '../../src/platform/db/queryable.ts';
import { testEvents } from './events.ts';
import type { QueuedAccount } from './queued.ts';
import { TEST_LIMITS } from './sending.ts';
import { testKeyring } from './webhooks.ts';

const PROVIDER = 'relay';

const accepted = {
  kind: 'accepted',
  providerMessageId: null,
  response: '250 ok',
  delivered: false,
} as const;
const hard = { type: 'hard', subtype: 'no_such_mailbox', diagnostic: '550 5.1.1 no such user' } as const;
const soft = { type: 'soft', subtype: 'mailbox_full', diagnostic: '452 4.2.2 full' } as const;

export const outcomes = {
  accepted,
  delivered: { ...accepted, delivered: true },
  refused: { kind: 'refused', code: 'rejected', response: '554 no' },
  bounced: { kind: 'bounced', bounce: hard, response: hard.diagnostic },
  deferred: { kind: 'deferred', response: '450 later' },
  unknown: { kind: 'unknown', reason: 'time-out' },
  lost: { kind: 'fault', reason: 'connection refused' },
} as const satisfies Record<string, HandOverOutcome>;

export type OutcomeName = keyof typeof outcomes;
export const outcomeNames = Object.keys(outcomes) as OutcomeName[];

/** What reports of providers say about a message. */
export const reportTypes = {
  accepted: { type: 'accepted' },
  delivered: { type: 'delivered' },
  bounced: { type: 'bounced', bounce: hard },
  'soft-bounced': { type: 'bounced', bounce: soft },
  complained: { type: 'complained' },
  failed: { type: 'failed', failure: { code: 'rejected', message: 'dropped' } },
} as const satisfies Record<string, Partial<DeliveryFact>>;

export type ReportName = keyof typeof reportTypes;
export const reportNames = Object.keys(reportTypes) as ReportName[];

/** What waits: the classes in the queue, and the first attempts of campaigns. */
export type Backlog = 'transactional' | 'flow' | 'campaign' | 'block';

/** A batch under an intent, whose outcomes are not recorded yet. */
export type Batch = (outcomeOf: (n: number) => HandOverOutcome) => BatchRecord;

/** A report about a message. */
export interface Report {
  messageId: number;
  name: ReportName;
  /** By default now. */
  at?: Date;
}

/** @param owner the sender's process, see `insertSender` */
export function createOutcomes({ pool }: Pick<Database, 'pool'>, owner: number) {
  let seq = 0;

  /** Claims and intends what waits, whether it is due or not. */
  async function intend({ accountId }: QueuedAccount, backlog: Backlog, quantum = 50): Promise<Batch | null> {
    const number = ++seq;
    const request = { channel: 'email', accountId, owner } as const;
    const intent = { owner, seq: number, provider: PROVIDER, keyring: testKeyring };
    if (backlog === 'block') {
      const { claims } = await claimBlock(pool, { ...request, providerId: 0, messages: 1_000 }, TEST_LIMITS);
      const block = claims[0]?.block;
      if (!block) return null;
      const messages = await intendBlock(pool, { ...intent, claims }, block);
      const leaving = messages.filter(({ verdict }) => verdict === 'send');
      return (outcomeOf) => {
        const ended = leaving.map((_, n) => outcomeOf(n));
        const records = outcomeRecords(PROVIDER, messages, ended);
        return { owner, seq: number, block, outcomes: recordsOfBlock(records, leaving, ended) };
      };
    }
    await pool.query(
      `update send_queue set due_at = now() where message_id = any(array(
         select message_id from send_queue where owner is null and due_at < 'infinity' and due_at > now()
         order by message_id for update skip locked))`,
    );
    const claims = await claimBacklog(
      pool,
      { ...request, class: messageClasses[backlog], quantum },
      TEST_LIMITS,
    );
    if (claims.length === 0) return null;
    const messages = await intendMessages(pool, { ...intent, claims });
    const leaving = messages.filter(({ verdict }) => verdict === 'send');
    return (outcomeOf) => ({
      owner,
      seq: number,
      outcomes: outcomeRecords(
        PROVIDER,
        messages,
        leaving.map((_, n) => outcomeOf(n)),
      ),
    });
  }

  const record = (...batches: BatchRecord[]) => createBatchRecording({ pool, events: testEvents })(batches);

  return {
    intend,
    record,

    /** Hands over what waits, once, with the outcomes of its messages; the last one is that of all others. */
    async send(account: QueuedAccount, backlog: Backlog, ...given: OutcomeName[]): Promise<void> {
      const batch = await intend(account, backlog);
      if (!batch) throw new Error('nothing waits');
      await record(batch((n) => outcomes[given[n] ?? given.at(-1) ?? 'accepted']));
    },

    /** Records reports of the provider, all in one transaction. */
    report: ({ accountId }: QueuedAccount, reports: readonly Report[]) =>
      inTransaction(pool, (trx) =>
        recordFacts(
          trx,
          reports.map(({ messageId, name, at = new Date() }) => ({
            ...{ accountId, messageId, occurredAt: at, providerMessageId: null, response: null },
            ...{ source: { kind: 'callback', provider: PROVIDER }, suppresses: false },
            ...{ bounce: null, failure: null },
            ...reportTypes[name],
          })),
          testEvents,
        ),
      ),

    /** Recovers the sender as if it were dead. */
    die: () => inTransaction(pool, (trx) => recoverDeadSender(trx, owner)),
  };
}
