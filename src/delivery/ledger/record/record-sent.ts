/**
 * Records batches of blocks in which a provider has accepted every message, which are nearly all batches of a campaign.
 * Such messages have no queue rows and no events of their own, and suppress no addresses, so this statement costs half
 * as much as the general one in `record-sql.ts`. It has the same effects, and can be repeated just as safely.
 */
import type { Queryable } from '../../../platform/db/queryable.ts';
import { defineStatement } from '../../../platform/db/statements.ts';
import { blocksOfSql, changedBlocksSql, isDividedSql } from '../blocks/campaign-blocks.ts';
import { CONTACT_COUNTS, contactCtes } from '../effects/contact-effects.ts';
import { countOutcomesSql } from '../effects/leave-queue.ts';
import { countStatsSql } from '../effects/stat-changes.ts';
import { messageClasses, statesBefore, statusList } from '../../terms/message.ts';
import { isPaidByMessage } from '../../terms/units.ts';
import type { OutcomeRecord } from './outcomes.ts';
import type { BatchRecord } from './record.ts';

/** What the messages of a statement have in common. */
interface Shared {
  provider: string | null;
  versionId: number | null;
}

/** SQL over the block `b`: the number of its messages in these batches. */
const usedSql = `(
      select coalesce(sum(t.used), 0)::int from batches t join intents e on e.owner = t.owner and e.seq = t.seq
      where t.campaign_id = b.campaign_id and t.n = b.n)`;

const sentSql = `
  with batches as materialized (
    select * from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::int[], $5::int[], $12::bigint[], $13::bigint[])
      as b (owner, seq, campaign_id, n, used, first_id, last_id)
  ), intents as (
    delete from handovers h using batches b where h.owner = b.owner and h.seq = b.seq returning h.owner, h.seq
  ), input as materialized (
    select * from unnest($6::bigint[], $7::smallint[], $8::text[], $9::text[])
      as i (id, attempt, response, provider_message_id)
  ), updated as (
    update messages m set
      status = 'sent', attempt_count = greatest(m.attempt_count, i.attempt), sent_at = now(),
      provider = coalesce($10, m.provider),
      provider_message_id = coalesce(i.provider_message_id, m.provider_message_id),
      sent_attempt = coalesce(m.sent_attempt, i.attempt),
      response = case when m.sent_attempt is null then i.response else m.response end,
      failure = null, hold = null, updated_at = now(), content_version_id = coalesce($11, m.content_version_id)
    from input i
    where m.id = i.id and m.status in (${statusList(statesBefore('sent'))}) and m.sent_at is null
    returning m.id, m.campaign_id, m.account_id, m.brand_id, m.channel, m.class, m.contact_id, m.sent_at, m.sent_attempt, m.test,
      m.updated_at, m.segments, m.unknown_at, m.unsent_at
  ), events as (
    -- The row of a message shows that this attempt was accepted, unless another outcome came first.
    insert into message_events (message_id, attempt, type, data)
    select i.id, i.attempt, 'sent', jsonb_strip_nulls(jsonb_build_object('provider', $10, 'response', i.response))
    from input i where (i.id, i.attempt) not in (select id, sent_attempt from updated)
      and not exists (select 1 from messages m where m.id = i.id and m.sent_attempt = i.attempt)
    on conflict do nothing
  )${changedBlocksSql(
    `select campaign_id, n from batches
      union all ${blocksOfSql(`select campaign_id, id from updated where ${isDividedSql}`)}`,
    { places: usedSql, attempted: usedSql, emails: usedSql },
  )}${contactCtes({ sentNow: 'true', failedNow: 'false' })}${countOutcomesSql({
    sentNow: 'true',
    attempted: 'true',
    after: CONTACT_COUNTS,
    suppressions: false,
  })}${countStatsSql('updated', { sent: 'true' })}
  select count(*) from updated`;

const isPlainlySent = (outcome: OutcomeRecord) =>
  outcome.status === 'sent' &&
  outcome.queue === 'delete' &&
  outcome.message.class === messageClasses.campaign &&
  !outcome.giveBack &&
  // Each text has segments and a price of its own.
  isPaidByMessage(outcome.message.channel) &&
  !outcome.suppress &&
  outcome.failure === null &&
  outcome.bounce === null;

/** @returns what the messages of the batch have in common; null if the general statement has to record it */
function sharedOf({ block, seq, outcomes }: BatchRecord): Shared | null {
  const [first] = outcomes;
  if (!block || seq === null || !first) return null;
  const { provider, versionId } = first;
  const isPlain = outcomes.every(
    (outcome) => isPlainlySent(outcome) && outcome.provider === provider && outcome.versionId === versionId,
  );
  return isPlain ? { provider, versionId } : null;
}

/** Batches that are recorded by one statement. */
export interface SentBatches extends Shared {
  batches: BatchRecord[];
}

/** Divides batches into groups that {@link recordSent} can record, and all others. */
export function divideSent(batches: readonly BatchRecord[]): { sent: SentBatches[]; others: BatchRecord[] } {
  const groups = new Map<string, SentBatches>();
  const others: BatchRecord[] = [];
  for (const batch of batches) {
    const shared = sharedOf(batch);
    if (!shared) {
      others.push(batch);
      continue;
    }
    const key = `${shared.versionId} ${shared.provider}`;
    const group = groups.get(key);
    if (group) group.batches.push(batch);
    else groups.set(key, { ...shared, batches: [batch] });
  }
  return { sent: [...groups.values()], others };
}

/** Formats an array of numbers for PostgreSQL. The driver would quote each number as a text. */
const numbers = (values: readonly number[]) => `{${values.join(',')}}`;

const idsOf = ({ outcomes }: BatchRecord) => outcomes.map(({ messageId }) => messageId);

export const recordSentStatement = defineStatement({
  from: import.meta.url,
  sentBy: 'recordSent',
  does: 'Records batches of blocks of which every message was sent at the first attempt.',
  parameters: [
    'bigint[]: the processes whose intents end',
    'bigint[]: and the numbers of these intents',
    'bigint[]: the campaign of each batch',
    'integer[]: the number of its block',
    'integer[]: the number of its messages',
    'bigint[]: the messages',
    'smallint[]: their attempts',
    'text[]: the response of the provider to each',
    'text[]: the id that the provider gave each, or empty',
    'text: the provider',
    'bigint: the version of the content',
    'bigint[]: the first message of each batch',
    'bigint[]: the last message of each batch',
  ],
  shapes: { record_sent_in_blocks: {} },
  version: 3,
  compose: () => sentSql,
});

export async function recordSent(
  client: Queryable,
  { provider, versionId, batches }: SentBatches,
): Promise<void> {
  // All statements lock messages in this order, to avoid deadlocks.
  const outcomes = batches
    .flatMap((batch) => batch.outcomes)
    .sort((one, other) => one.messageId - other.messageId);
  const hasIds = outcomes.some(({ providerMessageId }) => providerMessageId !== null);
  await client.query({
    ...recordSentStatement.prepared('record_sent_in_blocks'),
    values: [
      numbers(batches.map(({ owner }) => owner)),
      numbers(batches.map(({ seq }) => seq ?? 0)),
      numbers(batches.map(({ block }) => block?.campaignId ?? 0)),
      numbers(batches.map(({ block }) => block?.n ?? 0)),
      numbers(batches.map((batch) => batch.outcomes.length)),
      numbers(outcomes.map(({ messageId }) => messageId)),
      numbers(outcomes.map(({ attempt }) => attempt)),
      outcomes.map(({ response }) => response),
      hasIds ? outcomes.map(({ providerMessageId }) => providerMessageId) : [],
      provider,
      versionId,
      numbers(batches.map((batch) => Math.min(...idsOf(batch)))),
      numbers(batches.map((batch) => Math.max(...idsOf(batch)))),
    ],
  });
}
