import type { Queryable } from '../../../platform/db/queryable.ts';
import { defineStatement } from '../../../platform/db/statements.ts';
import { isUncertainSql, markForRecountSql } from '../blocks/campaign-blocks.ts';
import { leaveQueueSql } from '../effects/leave-queue.ts';
import { countFlowMessagesSql } from '../effects/flow-counts.ts';
import { isIntendedSql } from '../ownership/open-intents.ts';
import { limits } from '../limits/authority.ts';
import { messageClasses, openStatuses, type SkipCode, statusList } from '../../terms/message.ts';
import { countUsageSql } from '../money/usage.ts';

const free = 'array(select message_id from free)';
const canceledUnsent = 'array(select message_id from free where not uncertain)';

const cancelSql = `
  with locked as materialized (
    select m.id, m.class = ${messageClasses.flow} as of_flow, m.status, m.sent_at, m.delivered_at, m.bounce,
      m.class <> ${messageClasses.transactional} and (m.status = 'unknown' or ${isUncertainSql}) as uncertain
    from messages m where m.id = any($1) and m.id between $2 and $3 and m.status in (${statusList(openStatuses)})
    order by m.id for no key update
  ), free as materialized (
    select q.message_id, l.uncertain, l.of_flow, l.status as was_status, l.sent_at as was_sent_at,
      l.delivered_at as was_delivered_at, l.bounce as was_bounce
    from send_queue q join locked l on l.id = q.message_id
    where q.message_id = any(array(select id from locked)) and not exists (
      select 1 from handovers h where h.owner = q.owner and q.message_id = any(h.message_ids))
  ), canceled as (
    update messages m set hold = null, updated_at = now(),
      status = case when f.uncertain then 'unknown' when f.of_flow and $5::boolean then 'skipped' else 'canceled' end,
      failure = case when not f.uncertain then jsonb_build_object(
        'code', case when f.of_flow and $5::boolean then 'contact_deleted' else 'canceled' end, 'message', $4::text) end,
      unknown_at = case when f.uncertain then coalesce(m.unknown_at, now()) else m.unknown_at end,
      unsent_at = case when not f.uncertain and m.unknown_at is not null and m.sent_at is null then now()
        else m.unsent_at end
    from free f where m.id = f.message_id and m.id between $2 and $3
    returning m.*, f.was_status, f.was_sent_at, f.was_delivered_at, f.was_bounce
  )${countFlowMessagesSql('canceled')}${countUsageSql('canceled', 'false')}${leaveQueueSql(
    free,
    canceledUnsent,
    limits,
    {
      unknown: 'array(select message_id from free where uncertain)',
    },
  )}${markForRecountSql('select campaign_id, id from canceled where campaign_id is not null')}
  select message_id as id from free where not uncertain`;

export const cancelStatement = defineStatement({
  from: import.meta.url,
  sentBy: 'cancelBecause',
  does: 'Cancels queued messages that no intent covers, and gives back what they have reserved.',
  parameters: [
    'bigint[]: the messages',
    'bigint: the first message',
    'bigint: the last message',
    'text: the reason that clients read',
    'boolean: whether their contact was deleted',
  ],
  shapes: { cancel_messages_because: {} },
  compose: () => cancelSql,
});

async function cancelBecause(
  db: Queryable,
  ids: readonly number[],
  { reason, isDeletion }: { reason: string; isDeletion: boolean },
): Promise<number[]> {
  if (ids.length === 0) return [];
  const { rows } = await db.query<{ id: number }>({
    ...cancelStatement.prepared('cancel_messages_because'),
    values: [ids, Math.min(...ids), Math.max(...ids), reason, isDeletion],
  });
  return rows.map(({ id }) => id);
}

/**
 * Cancels queued messages whose contact was deleted, and returns their reservations. Messages of flows become
 * `skipped`. A message of a campaign or flow that has an attempt without a known outcome leaves the queue and becomes
 * `unknown`.
 *
 * Messages that an intent covers may be on their way and are left alone. An intent that is written at the same time may
 * still send a canceled message: after the commit, wait for the recipient fence before you report that they are
 * canceled.
 * @param ids messages in any state
 * @param reason shown as `failure.message`
 * @returns the ids of those that are canceled or skipped
 */
export const cancelMessages = (db: Queryable, ids: readonly number[], reason: string): Promise<number[]> =>
  cancelBecause(db, ids, { reason, isDeletion: true });

/**
 * Cancels messages of flows, as {@link cancelMessages} does, because their runs have ended. No intent sends them any
 * more, because intents check the flow.
 */
export const cancelFlowMessages = (
  db: Queryable,
  ids: readonly number[],
  reason: string,
): Promise<number[]> => cancelBecause(db, ids, { reason, isDeletion: false });

const skipped = 'array(select id from locked)';
const skippedUnsent = 'array(select id from locked where not uncertain)';

const skipSql = `
  with locked as materialized (
    select m.id, ${isUncertainSql} as uncertain from messages m
    where m.id = any($1) and m.id between $2 and $3 and m.campaign_id is not null and m.status in ('queued', 'held')
      and not ${isIntendedSql}
    order by m.id for no key update
  ), updated as (
    update messages m set status = case when l.uncertain then 'unknown' else 'skipped' end, hold = null,
      updated_at = now(),
      failure = case when l.uncertain then null else jsonb_build_object('code', $4::text, 'message', $5::text) end
    from locked l where m.id = l.id and m.id between $2 and $3
    returning m.id, m.campaign_id, m.status
  )${leaveQueueSql(skipped, skippedUnsent, limits, {
    unknown: 'array(select id from locked where uncertain)',
  })}${markForRecountSql('select campaign_id, id from updated')}
  select id from updated where status = 'skipped'`;

export const skipStatement = defineStatement({
  from: import.meta.url,
  sentBy: 'skipRecipients',
  does: 'Skips recipients of campaigns who wait, unless an intent covers them.',
  parameters: [
    'bigint[]: the messages',
    'bigint: the first message',
    'bigint: the last message',
    'text: the code of the failure',
    'text: the message of the failure',
  ],
  shapes: { skip_recipients: {} },
  compose: () => skipSql,
});

/**
 * Skips recipients of campaigns who wait for their first attempt or for a retry. Recipients that an intent covers are
 * left alone; those with an attempt without a known outcome become `unknown`.
 * @param trx holds the locks of their campaigns, see `lockCampaignForChange`
 * @returns the ids of those that are skipped
 */
export async function skipRecipients(
  trx: Queryable,
  ids: readonly number[],
  failure: { code: SkipCode; message: string },
): Promise<number[]> {
  if (ids.length === 0) return [];
  const { rows } = await trx.query<{ id: number }>({
    ...skipStatement.prepared('skip_recipients'),
    values: [ids, Math.min(...ids), Math.max(...ids), failure.code, failure.message],
  });
  return rows.map(({ id }) => id);
}
