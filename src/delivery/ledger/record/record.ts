/** Records the outcomes of batches of messages. */
import type pg from 'pg';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { type EventPublisher, type QueuedWork, toEventRow } from '../../../platform/events/publish.ts';
import { recipientKey } from '../../terms/channels/recipient.ts';
import { emailEventsOf } from '../../terms/events.ts';
import { limits, type Limits } from '../limits/authority.ts';
import { messageClasses } from '../../terms/message.ts';
import { isPaidBySegment } from '../../terms/units.ts';
import type { BlockClaim } from '../ownership/claims.ts';
import type { OutcomeRecord } from './outcomes.ts';
import { createPlainRecording } from './record-plain.ts';
import { divideSent, recordSent } from './record-sent.ts';
import { type RecordingParts, type RecordShapeName, recordStatement, takesBlocks } from './record-sql.ts';

/** A batch with the outcomes of all its messages. */
export interface BatchRecord {
  owner: number;
  /** The intent to end; null if none was written. */
  seq: number | null;
  outcomes: OutcomeRecord[];
  /** Set if the messages belong to this campaign block and have no queue rows. */
  block?: BlockClaim;
}

/**
 * One row of the statement's input. Fields that are null, as most are, are left out: the statement parses each of them
 * several times.
 */
function inputRow(outcome: OutcomeRecord, owner: number, block: BlockClaim | undefined) {
  const {
    message,
    providerMessageId,
    failure,
    bounce,
    suppress,
    giveBack: _,
    hasContacts: __,
    priced: ___,
    unattempted: ____,
    keep,
    versionId,
    ...rest
  } = outcome;
  const { accountId, channel } = message;
  return {
    ...rest,
    owner,
    ...(providerMessageId === null ? {} : { providerMessageId }),
    ...(keep === null ? {} : { keep }),
    ...(failure ? { failure } : {}),
    ...(bounce ? { bounce } : {}),
    ...(block ? { campaignId: block.campaignId, block: block.n } : {}),
    ...(versionId === null ? {} : { versionId }),
    ...(suppress ? { suppress, accountId, channel, addressKey: recipientKey(channel, message.to) } : {}),
  };
}

function idsOf(outcomes: readonly OutcomeRecord[], matches: (outcome: OutcomeRecord) => boolean): number[] {
  return outcomes.filter(matches).map(({ messageId }) => messageId);
}

/**
 * Whether an outcome may change the message's reservation. Most outcomes do not: a sent message keeps its charge, so
 * the shorter statement can remove its queue row.
 */
function changesCharge({ priced, status, queue, giveBack, keep, message }: OutcomeRecord): boolean {
  if (!priced) return false;
  const isSent = (status === 'sent' || status === 'delivered') && queue === 'delete' && !giveBack;
  return !(isSent && keep === null && message.class === messageClasses.transactional);
}

function shapeFor(outcomes: readonly OutcomeRecord[]): RecordShapeName {
  const ofCampaigns = outcomes.some(({ message }) => message.class === messageClasses.campaign);
  const ofFlows = outcomes.some(({ message }) => message.class === messageClasses.flow);
  if (outcomes.some(changesCharge)) {
    return ofFlows || ofCampaigns ? 'record_priced_outcomes_of_flows_and_blocks' : 'record_priced_outcomes';
  }
  if (ofFlows) return ofCampaigns ? 'record_outcomes_of_flows_and_blocks' : 'record_outcomes_of_flows';
  if (ofCampaigns) {
    const ofTexts = outcomes.some(({ message }) => isPaidBySegment(message.channel));
    return ofTexts ? 'record_outcomes_of_flows_and_blocks' : 'record_outcomes_in_blocks';
  }
  return outcomes.some(({ hasContacts }) => hasContacts) ? 'record_outcomes_of_contacts' : 'record_outcomes';
}

/** A batch of a block, as a row of the statement's input. Sent messages have used their places; retries keep theirs. */
function blockRow({ owner, seq, block, outcomes }: BatchRecord) {
  if (!block) return [];
  const used = outcomes.filter(
    ({ queue, giveBack }) => queue === 'enqueue' || (queue === 'delete' && !giveBack),
  );
  // Without a provider, the message was refused before the hand-over.
  const attempted = outcomes.filter(
    ({ queue, provider, unattempted }) =>
      queue === 'enqueue' || (queue === 'delete' && provider !== null && !unattempted),
  );
  const charged = outcomes.filter(
    ({ queue, giveBack, keep }) => queue === 'delete' && !giveBack && keep !== 0,
  );
  const texts = charged.filter(({ message }) => isPaidBySegment(message.channel));
  const ids = outcomes.map(({ messageId }) => messageId);
  return [
    {
      owner,
      seq,
      campaign_id: block.campaignId,
      n: block.n,
      used: used.length,
      attempted: attempted.length,
      charged: charged.length,
      ...(texts.length > 0
        ? { texts: Object.fromEntries(texts.map(({ messageId, keep }) => [messageId, keep])) }
        : {}),
      first_id: Math.min(...ids),
      last_id: Math.max(...ids),
    },
  ];
}

/** @returns the value of the publication's `counts` */
async function recordBatches(
  client: Queryable,
  parts: RecordingParts,
  batches: readonly BatchRecord[],
): Promise<number[]> {
  const occurredAt = new Date();
  const intents = batches.filter((batch) => batch.seq !== null);
  // All statements lock messages in this order, as two senders may have outcomes of the same messages.
  const owned = batches
    .flatMap(({ owner, outcomes, block }) => outcomes.map((outcome) => ({ owner, outcome, block })))
    .sort((one, other) => one.outcome.messageId - other.outcome.messageId);
  let published = 0;
  const input = owned.map(({ owner, outcome, block }) => {
    const events = emailEventsOf(outcome, occurredAt).map((event) => toEventRow(event, published++));
    return events.length === 0
      ? inputRow(outcome, owner, block)
      : { ...inputRow(outcome, owner, block), published: events };
  });
  const outcomes = owned.map(({ outcome }) => outcome);
  const queued = owned.flatMap(({ outcome, block }) => (block ? [] : [outcome]));
  const shape = shapeFor(outcomes);
  const { rows } = await client.query<{ counts: number[] }>({
    ...recordStatement.prepared(shape, parts),
    values: [
      JSON.stringify(input),
      intents.map((batch) => batch.owner),
      intents.map((batch) => batch.seq),
      idsOf(queued, ({ queue }) => queue === 'delete'),
      idsOf(queued, ({ giveBack }) => giveBack),
      idsOf(queued, ({ queue }) => queue !== 'delete'),
      ...(takesBlocks(shape) ? [JSON.stringify(batches.flatMap(blockRow))] : []),
    ],
  });
  return rows[0]?.counts ?? [];
}

export interface BatchRecordingDeps {
  pool: pg.Pool;
  events: EventPublisher;
}

/** Records batches and returns the work that their events have queued; the caller wakes its channels. */
export type RecordBatches = (batches: readonly BatchRecord[]) => Promise<QueuedWork>;

/**
 * Records batches, in one statement for each kind of batch (plain messages, blocks in which all was sent, others):
 * attempts, message states, events and the work that they queue, suppressions, counters, and the end of the intents.
 */
export function createBatchRecording(
  { pool, events }: BatchRecordingDeps,
  table: Limits = limits,
): RecordBatches {
  const { publication } = events;
  const parts = { publication, limits: table };
  const recordPlain = createPlainRecording(pool, parts);
  return async (batches) => {
    const { sent, others } = divideSent(batches);
    for (const group of sent) await recordSent(pool, group);
    if (others.length === 0) return new Map();
    return (await recordPlain(others)) ?? publication.queuedWork(await recordBatches(pool, parts, others));
  };
}
