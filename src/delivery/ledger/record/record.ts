/** Records the outcomes of batches of messages. */
import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { type EventPublisher, type QueuedWork, toEventRow } from '../../../platform/events/publish.ts';
import { recipientKey } from '../../terms/channels/recipient.ts';
import { emailEventsOf } from '../../terms/events.ts';
import { messageClasses } from '../../terms/message.ts';
import { isNotPlain } from '../../terms/plain-message.ts';
import { isPaidByMessage, isPaidBySegment } from '../../terms/units.ts';
import type { BlockClaim } from '../ownership/claims.ts';
import type { OutcomeRecord } from './outcomes.ts';
import { divideSent, recordSent } from './record-sent.ts';
import { type RecordingParts, recordStatement } from './record-function.ts';

/** A batch with the outcomes of all its messages. */
export interface BatchRecord {
  owner: number;
  /** The intent to end; null if none was written. */
  seq: number | null;
  outcomes: OutcomeRecord[];
  /** Set if the messages belong to this campaign block and have no queue rows. */
  block?: BlockClaim;
}

/** An outcome and the batch that it is part of. */
interface OwnedOutcome {
  owner: number;
  outcome: OutcomeRecord;
  block: BlockClaim | undefined;
}

/** How long the events of a brand are published with the record after a consumer wanted one. */
const WANTED_MS = 600_000;
const MAX_REMEMBERED = 10_000;

/**
 * Whether an outcome may change the message's reservation. Most outcomes do not: a sent message keeps its charge, so
 * its queue row can be removed at once.
 */
function changesCharge({ priced, status, queue, giveBack, keep, message }: OutcomeRecord): boolean {
  if (!priced) return false;
  const isSent = (status === 'sent' || status === 'delivered') && queue === 'delete' && !giveBack;
  return !(isSent && keep === null && message.class === messageClasses.transactional);
}

/** Whether a provider accepted an email that nothing else has to be said about, and that has a queue row. */
const isPlain = ({ outcome, block }: OwnedOutcome) =>
  outcome.status === 'sent' &&
  outcome.queue === 'delete' &&
  !block &&
  outcome.message.class === messageClasses.transactional &&
  isPaidByMessage(outcome.message.channel) &&
  !changesCharge(outcome) &&
  !outcome.giveBack &&
  !outcome.suppress &&
  outcome.failure === null &&
  outcome.bounce === null &&
  outcome.keep === null &&
  outcome.versionId === null;

/** The parts of the function that the outcome needs. */
function neededParts(outcome: OutcomeRecord) {
  const { message, giveBack, suppress } = outcome;
  const { accountId, channel } = message;
  return {
    ...(changesCharge(outcome) ? { charge: true } : {}),
    ...(giveBack ? { giveBack } : {}),
    ...(message.class === messageClasses.flow ? { flow: true } : {}),
    ...(isPaidBySegment(channel) ? { text: true } : {}),
    ...(suppress ? { suppress, accountId, channel, addressKey: recipientKey(channel, message.to) } : {}),
  };
}

/**
 * What the function has to know about an outcome that is not plain. Fields that are null, as most are, are left out: it
 * parses each of them several times.
 */
function inputRow({ owner, outcome, block }: OwnedOutcome) {
  const { status, queue, epoch, delaySeconds, failure, bounce, keep, versionId } = outcome;
  const { segments, bytes, losses } = outcome;
  return {
    // A message that was sent has one event, and one that was delivered has two.
    ...(status === 'sent' || status === 'delivered' ? {} : { events: outcome.events }),
    ...(queue === 'delete' ? {} : { queue, owner, epoch, delaySeconds }),
    ...(failure ? { failure } : {}),
    ...(bounce ? { bounce } : {}),
    ...(keep === null ? {} : { keep }),
    ...(versionId === null ? {} : { versionId }),
    ...(block ? { campaignId: block.campaignId, block: block.n } : {}),
    ...neededParts(outcome),
    // JSON has no undefined values.
    ...{ segments, bytes, losses },
  };
}

/** A batch of a block, as a row of the input. Sent messages have used their places; retries keep theirs. */
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

/** The events of the outcomes, as the statement publishes them. */
function eventsOf(owned: readonly OwnedOutcome[]) {
  const occurredAt = new Date();
  return owned
    .flatMap(({ outcome }) =>
      emailEventsOf(outcome, occurredAt).map((event) => ({ event, message_id: outcome.messageId })),
    )
    .map(({ event, message_id }, n) => ({ message_id, ...toEventRow(event, n) }));
}

/** Batches as the statement takes them. */
interface Recording {
  batches: readonly BatchRecord[];
  /** Their outcomes. All statements lock messages in this order, as two senders may have outcomes of the same messages. */
  owned: readonly OwnedOutcome[];
  /** Whether all are plain, of one provider and of first attempts, so that the function runs its short part. */
  arePlain: boolean;
  brands: readonly number[];
}

function recordingOf(batches: readonly BatchRecord[]): Recording {
  const owned = batches
    .flatMap(({ owner, outcomes, block }) => outcomes.map((outcome) => ({ owner, outcome, block })))
    .sort((one, other) => one.outcome.messageId - other.outcome.messageId);
  const brands = [...new Set(owned.map(({ outcome }) => outcome.message.brandId))];
  const provider = owned[0]?.outcome.provider ?? null;
  const arePlain = owned.every(
    (each) => isPlain(each) && each.outcome.attempt === 1 && each.outcome.provider === provider,
  );
  return { batches, owned, arePlain, brands };
}

interface Recorded {
  /** The value of the publication's `counts`. */
  counts?: number[];
  /** The brands whose events a consumer wants. */
  wanted?: number[];
}

/** @returns null if nothing was recorded, because a consumer wants the events and `publishes` is false */
async function recordOnce(
  client: Queryable,
  parts: RecordingParts,
  { batches, owned, arePlain, brands }: Recording,
  publishes: boolean,
): Promise<Recorded | null> {
  const intents = batches.filter((batch) => batch.seq !== null);
  const blocks = batches.flatMap(blockRow);
  const outcomes = owned.map(({ outcome }) => outcome);
  const { rows } = await client.query<Recorded>({
    ...recordStatement.prepared(publishes ? 'record_and_publish_batches' : 'record_batches', parts),
    values: [
      intents.map(({ owner }) => owner),
      intents.map(({ seq }) => seq),
      outcomes.map(({ messageId }) => messageId),
      arePlain ? null : outcomes.map(({ attempt }) => attempt),
      arePlain ? null : outcomes.map(({ status }) => status),
      (arePlain ? outcomes.slice(0, 1) : outcomes).map(({ provider }) => provider),
      outcomes.map(({ providerMessageId }) => providerMessageId),
      outcomes.map(({ response }) => response),
      outcomes.some(({ hasContacts }) => hasContacts),
      arePlain ? null : owned.map((each) => (isPlain(each) ? null : JSON.stringify(inputRow(each)))),
      blocks.length === 0 ? null : JSON.stringify(blocks),
      JSON.stringify(publishes ? eventsOf(owned) : brands),
    ],
  });
  return rows[0] ?? null;
}

/** Divides batches so that each message is once in a division: the second outcome of a message comes later. */
function withoutRepeats(batches: readonly BatchRecord[]): BatchRecord[][] {
  const divisions: { ids: Set<number>; batches: BatchRecord[] }[] = [];
  for (const batch of batches) {
    const ids = batch.outcomes.map(({ messageId }) => messageId);
    let division = divisions.at(-1);
    if (!division || ids.some((id) => division?.ids.has(id))) {
      division = { ids: new Set(), batches: [] };
      divisions.push(division);
    }
    for (const id of ids) division.ids.add(id);
    division.batches.push(batch);
  }
  return divisions.map((division) => division.batches);
}

export interface BatchRecordingDeps {
  pool: pg.Pool;
  events: EventPublisher;
}

/** Records batches and returns the work that their events have queued; the caller wakes its channels. */
export type RecordBatches = (batches: readonly BatchRecord[]) => Promise<QueuedWork>;

/**
 * Records batches, in one statement for those of blocks in which all was sent, and one for all others: attempts,
 * message states, events and the work that they queue, suppressions, counters, and the end of the intents.
 * @param functionName the function that records them; by default that of the product
 */
export function createBatchRecording(
  { pool, events }: BatchRecordingDeps,
  functionName?: string,
): RecordBatches {
  const { publication } = events;
  const parts = { publication, ...(functionName === undefined ? {} : { functionName }) };
  const wanted = new LRUCache<number, true>({ max: MAX_REMEMBERED, ttl: WANTED_MS });

  async function recordAs(recording: Recording): Promise<Recorded | null> {
    // Most messages are plain and of brands whose events no consumer wants.
    const publishes = !recording.arePlain || recording.brands.some((brand) => wanted.has(brand));
    return (
      (await recordOnce(pool, parts, recording, publishes)) ??
      (await recordOnce(pool, parts, recording, true))
    );
  }

  async function recordOthers(batches: readonly BatchRecord[]): Promise<number[]> {
    const recording = recordingOf(batches);
    const recorded = await recordAs(recording).catch((error: unknown) => {
      if (!isNotPlain(error) || !recording.arePlain) throw error;
      return recordAs({ ...recording, arePlain: false });
    });
    for (const brand of recorded?.wanted ?? []) wanted.set(brand, true);
    return recorded?.counts ?? [];
  }

  return async (batches) => {
    const { sent, others } = divideSent(batches);
    for (const group of sent) await recordSent(pool, group);
    const counts: number[][] = [];
    for (const division of withoutRepeats(others)) counts.push(await recordOthers(division));
    const [first = []] = counts;
    return publication.queuedWork(first.map((_, n) => counts.reduce((sum, each) => sum + (each[n] ?? 0), 0)));
  };
}
