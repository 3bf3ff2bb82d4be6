import type { Queryable } from '../../../platform/db/queryable.ts';
import { defineStatement } from '../../../platform/db/statements.ts';
import { giveBackCtes, verdictSql } from '../limits/authority.ts';
import { furtherCtes } from '../../terms/sql-parts.ts';
import { type BatchMessage, intentParameters } from './batch.ts';
import {
  type CampaignBatchRequest,
  type CheckedRow,
  contactSql,
  recipientCases,
  uncertainSql,
  valuesOf,
  withoutOptedOut,
} from './campaign-batch.ts';
import {
  claimedSql,
  intentSql,
  messageColumns,
  messagesSql,
  noPriceCase,
  recipientSql,
  reservedByRow,
  rowColumns,
  unappliedOf,
  unappliedSql,
} from './checked-sql.ts';

/** Maximum number of characters of an event, as JSON. Clients send at most 32 KB of data. */
const MAX_EVENT = 65_536;

/** SQL: what contents read as `event` in messages of a flow run `r`. */
const eventSql = `case when length(r.event::text) <= ${MAX_EVENT}
          then r.event - 'id' - 'name' - 'mail' || jsonb_build_object('event', r.event -> 'name') end`;

/**
 * SQL: what contents read as `event` in messages of a flow run: the event that started the run. Null if there is none
 * or it is too large.
 * @param runId SQL
 */
export const runEventSql = (runId: string): string => `(
      select ${eventSql}
      from flow_runs r where r.id = ${runId})`;

/** SQL: the mail that messages of a flow run `r` answer, as `AnsweredMail`, even if it has been deleted. */
const answersSql = `case when r.event ? 'mail' then coalesce((
            select jsonb_build_object('id', c.internet_id, 'references', c.reference_ids)
            from conversation_messages c
            where c.id = (r.event -> 'mail' -> 'conversation_message_id')::bigint and c.brand_id = r.brand_id),
          '{"id": null, "references": []}') end`;

/** SQL: what a message `m` needs of its flow run. */
const runSql = `(
        select jsonb_build_object('event', ${eventSql},
          'answers', ${answersSql})
        from flow_runs r where r.id = m.flow_run_id)`;

/** SQL: the flows of the claimed rows. Rows written by earlier versions do not name their flow. */
const flowIdsSql = `array(
        select distinct coalesce(q.flow_id, (
          select m.flow_id from messages m where m.id = q.message_id and m.id between $6 and $7))
        from claimed q where (select count(*) from locked) > 0)`;

/**
 * SQL: cases that stop a flow's message `m`, checked before the limits. The message waits while its flow is paused, and
 * is canceled once the flow is archived or was resumed without its overdue messages.
 */
const flowCases = `
        when f.status = 'archived' or m.id <= f.canceled_to then 'flow_ended'
        when f.status = 'paused' then 'flow_stopped'`;

/**
 * CTEs: make the messages of paused flows wait for the resume, which waits for this statement and so finds them. They
 * return their reservations, unless an attempt may have sent them, and reserve again when they are claimed after the
 * resume. Also sets the flow of rows written by earlier versions.
 */
const stoppedCtes = `stopped as materialized (
      select s.*, c.flow_id, c.uncertain
      from (select id, epoch, flow_id, uncertain from checked where verdict = 'flow_stopped' order by id) c
      cross join lateral (
        select message_id, account_id, channel, reserved_bucket, price_month, price_millicents, price_units
        from send_queue q where q.message_id = c.id and q.claim_epoch = c.epoch and q.owner is not distinct from $1
        for update) s
    )${furtherCtes(giveBackCtes('(select * from stopped where not uncertain) stopped'))}, held as (
      update send_queue q set due_at = 'infinity', flow_id = s.flow_id,
        reserved_bucket = case when s.uncertain then q.reserved_bucket end,
        price_month = case when s.uncertain then q.price_month end,
        price_millicents = case when s.uncertain then q.price_millicents end
      from stopped s
      where q.message_id = any(array(select message_id from stopped)) and q.message_id = s.message_id
    )`;

/** SQL: checks a batch of messages of flows and writes the intent. Its parameters are those of `batch.ts`. */
const flowsSql = `
    with ${claimedSql}, flow as materialized (
      -- Accounts are locked first.
      select * from flows_to_send(${flowIdsSql})
    ), checked as materialized (
      select m.*, ${rowColumns}, q.attempt_count + 1 as attempt,
        case${flowCases}${recipientCases('m.flow_run_id is not null')}${noPriceCase(reservedByRow)} else ${verdictSql()} end as verdict,
        ${uncertainSql} as uncertain, ${contactSql} as contact, ${runSql} as run
      from ${messagesSql}
      left join flow f on f.id = m.flow_id
      ${recipientSql('m.content_version_id')}
    ), ${unappliedSql('flow_id is not null')}, ${intentSql}, ${stoppedCtes}
    select ${messageColumns}, content_version_id as "contentVersionId", null as campaign,
      jsonb_build_object('id', flow_id, 'contactId', contact_id, 'contact', coalesce(contact, '{}'::jsonb),
        'event', run -> 'event', 'answers', run -> 'answers') as flow,
      ${unappliedOf('flow_id is not null')}
    from checked order by id`;

export const flowIntentStatement = defineStatement({
  from: import.meta.url,
  sentBy: 'intendFlows',
  does: 'Checks a batch of messages of flows and writes the intent for those that may leave.',
  parameters: intentParameters,
  version: 4,
  shapes: { intend_or_hold_of_flows: {} },
  compose: () => flowsSql,
});

/**
 * Checks messages of flows and writes the intent, as `intendBatch` does for other queue rows. Consent is read once more:
 * the contact may have unsubscribed since the message was written. Flows are read under shared locks that a pause waits for,
 * like accounts.
 */
export async function intendFlows(client: Queryable, request: CampaignBatchRequest): Promise<BatchMessage[]> {
  const epochs = request.claims.map(({ epoch }) => epoch);
  const values = valuesOf(request, epochs);
  const { rows } = await client.query<CheckedRow>({
    ...flowIntentStatement.prepared('intend_or_hold_of_flows'),
    values,
  });
  return withoutOptedOut(rows, request);
}
