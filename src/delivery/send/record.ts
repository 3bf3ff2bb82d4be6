import type pg from 'pg';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import type { EventPublisher, QueuedWork } from '../../platform/events/publish.ts';
import { emailEventsOf, type RecordedMessage } from '../events.ts';
import { messageStatuses, statesBefore } from '../message.ts';
import type { OutcomeRecord } from './outcomes.ts';

/** An intent's window that has all its outcomes. `seq` is null where no intent was written. */
export interface BatchRecord {
  owner: number;
  seq: number | null;
  settlements: OutcomeRecord[];
}

const guardSql = messageStatuses
  .map((status) => {
    const before = statesBefore(status).map((state) => `'${state}'`);
    return `when '${status}' then m.status in (${before.length > 0 ? before.join(', ') : 'null'})`;
  })
  .join('\n        ');

/**
 * Everything that follows from outcomes, in one statement. Outcomes are facts keyed by (message, attempt): they
 * are recorded whoever owns the row by now, and recording them twice changes nothing. Queue rows are looked up by keys
 * of their own, as in a claim.
 */
const recordSql = `
  with input as (
    select * from json_to_recordset($1) as i (
      "messageId" bigint, attempt smallint, epoch int, status text, events text[], queue text, "delaySeconds" int,
      provider text, "providerMessageId" text, response text, failure jsonb, bounce jsonb,
      suppress boolean, owner bigint)
  ), intents as (
    delete from handovers h using unnest($2::bigint[], $3::bigint[]) as w (owner, seq)
    where h.owner = w.owner and h.seq = w.seq
  ), removed as (
    delete from send_queue where message_id = any($4) returning message_id, account_id, reserved_bucket
  ), unused as (
    select account_id, reserved_bucket as bucket, count(*)::int as count from removed
    where message_id = any($5) and reserved_bucket is not null group by account_id, reserved_bucket
  ), buckets as (
    select b.account_id, b.bucket from allowance_buckets b join unused using (account_id, bucket)
    order by b.account_id, b.bucket for update of b
  ), given_back as (
    update allowance_buckets b set used = greatest(0, b.used - u.count)
    from unused u join buckets l using (account_id, bucket)
    where b.account_id = u.account_id and b.bucket = u.bucket
  ), requeued as (
    update send_queue q set owner = null,
      due_at = case i.queue when 'retry' then now() + make_interval(secs => i."delaySeconds") else q.due_at end,
      attempt_count = case i.queue when 'retry' then greatest(q.attempt_count, i.attempt) else q.attempt_count end
    from input i
    where i.queue <> 'delete' and q.message_id = any($6) and q.message_id = i."messageId"
      and q.owner = i.owner and q.claim_epoch = i.epoch
  ), updated as (
    update messages m set
      status = i.status,
      attempt_count = greatest(m.attempt_count, i.attempt),
      sent_at = case when i.status in ('sent', 'delivered') then coalesce(m.sent_at, now()) else m.sent_at end,
      delivered_at = case i.status when 'delivered' then coalesce(m.delivered_at, now()) else m.delivered_at end,
      provider = coalesce(i.provider, m.provider),
      provider_message_id = coalesce(i."providerMessageId", m.provider_message_id),
      failure = i.failure, bounce = coalesce(i.bounce, m.bounce), hold = null, updated_at = now()
    from input i
    where m.id = i."messageId" and case i.status
        ${guardSql} end
    returning m.*, i.suppress, i.response, i.events
  ), told as (
    insert into message_events (message_id, attempt, type, data)
    select i."messageId", i.attempt, e.type, jsonb_strip_nulls(jsonb_build_object(
      'provider', i.provider, 'response', i.response, 'failure', i.failure, 'bounce', i.bounce))
    from input i cross join unnest(i.events) as e (type)
    on conflict do nothing
  ), suppressed as (
    insert into suppressions (account_id, address_key, email, phone, reason, source_provider, diagnostic)
    select distinct on (u.account_id, u.to_key) u.account_id, u.to_key,
      case u.channel when 'email' then u.to_key end, case u.channel when 'sms' then u.to_key end,
      'hard_bounce', u.provider, left(u.bounce ->> 'diagnostic', 500)
    from updated u where u.suppress order by u.account_id, u.to_key
    on conflict (account_id, address_key) where released_at is null do nothing
  ), sums as (
    select account_id, count(*) filter (where channel = 'email') as email, count(*) filter (where channel = 'sms') as sms
    from updated where status in ('sent', 'delivered') and not test group by account_id
  ), locked as (
    select account_id from account_counters where account_id in (select account_id from sums)
    order by account_id for update
  ), counted as (
    update account_counters c set email_sent = c.email_sent + s.email, sms_sent = c.sms_sent + s.sms
    from sums s join locked l using (account_id) where c.account_id = s.account_id
  )
  select u.id, u.account_id as "accountId", u.brand_id as "brandId", u.to_address as "to", u.subject, u.tags,
    u.idempotency_key as "idempotencyKey", u.provider, u.failure, u.bounce, u.response, u.events
  from updated u
  where u.channel = 'email' and u.class = 0 and not u.test and cardinality(u.events) > 0`;

/** As the statement reads it: what is absent is null there, and most of it is, which need not be read a thousand times. */
function written(settlement: OutcomeRecord, owner: number) {
  const { providerMessageId, failure, bounce, suppress, giveBack: _, ...rest } = settlement;
  return {
    ...rest,
    owner,
    ...(providerMessageId === null ? {} : { providerMessageId }),
    ...(failure ? { failure } : {}),
    ...(bounce ? { bounce } : {}),
    ...(suppress ? { suppress } : {}),
  };
}

function idsOf(settlements: readonly OutcomeRecord[], has: (settlement: OutcomeRecord) => boolean): number[] {
  return settlements.filter(has).map(({ messageId }) => messageId);
}

async function recordIn(
  client: Queryable,
  text: string,
  windows: readonly BatchRecord[],
): Promise<RecordedMessage[]> {
  const intents = windows.filter((window) => window.seq !== null);
  // In the order in which everybody locks messages: two senders may know facts of the same ones.
  const input = windows
    .flatMap((window) => window.settlements.map((settlement) => written(settlement, window.owner)))
    .sort((a, b) => a.messageId - b.messageId);
  const settlements = windows.flatMap((window) => window.settlements);
  const { rows } = await client.query<RecordedMessage>({
    name: 'record_outcomes',
    text,
    values: [
      JSON.stringify(input),
      intents.map((window) => window.owner),
      intents.map((window) => window.seq),
      idsOf(settlements, ({ queue }) => queue === 'delete'),
      idsOf(settlements, ({ giveBack }) => giveBack),
      idsOf(settlements, ({ queue }) => queue !== 'delete'),
    ],
  });
  return rows;
}

export interface BatchRecordingDeps {
  pool: pg.Pool;
  events: EventPublisher;
}

/** @returns the work that follows from the events: wake its channels */
export type RecordBatches = (batches: readonly BatchRecord[]) => Promise<QueuedWork>;

/**
 * Records batches: attempts, message states, events and the work that follows from them, suppressions, counters, and the
 * end of the intents, in one transaction.
 */
export function createBatchRecording({ pool, events }: BatchRecordingDeps): RecordBatches {
  const text = `${recordSql} and ${events.interestSql('u.brand_id')}`;
  return (batches) =>
    inTransaction(pool, async (client) => {
      const messages = await recordIn(client, text, batches);
      return events.publish(client, emailEventsOf(messages, new Date()));
    });
}
