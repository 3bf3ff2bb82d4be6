import type { Queryable } from '../../platform/db/queryable.ts';
import { verdictSql } from '../limits/authority.ts';
import type { BatchMessage } from './batch.ts';
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

/** The most characters of an event, as JSON. Clients send at most 32 KB of data. */
const MAX_EVENT = 65_536;

/**
 * SQL: what contents read as `event` in messages of a run: the event that started it. Null without one, or if it is too
 * large.
 * @param runId SQL
 */
export const runEventSql = (runId: string): string => `(
      select case when length(r.event::text) <= ${MAX_EVENT}
        then r.event - 'id' - 'name' || jsonb_build_object('event', r.event -> 'name') end
      from flow_runs r where r.id = ${runId})`;

/** SQL: checks a batch of messages of flows and writes the intent. See `batch.ts`, whose parameters come first. */
const flowsSql = `
    with ${claimedSql}, checked as materialized (
      select m.*, ${rowColumns}, q.attempt_count + 1 as attempt,
        case ${recipientCases('m.flow_run_id is not null')}${noPriceCase(reservedByRow)} else ${verdictSql()} end as verdict,
        ${uncertainSql} as uncertain, ${contactSql} as contact, ${runEventSql('m.flow_run_id')} as event
      from ${messagesSql}
      ${recipientSql('m.content_version_id')}
    ), ${unappliedSql('flow_id is not null')}, ${intentSql}
    select ${messageColumns}, content_version_id as "contentVersionId", null as campaign,
      jsonb_build_object('id', flow_id, 'contactId', contact_id, 'contact', coalesce(contact, '{}'::jsonb),
        'event', event) as flow,
      ${unappliedOf('flow_id is not null')}
    from checked order by id`;

/**
 * Checks messages of flows and writes the intent, as `intendBatch` does for other queue rows. Consent is read once more:
 * the contact may have unsubscribed since the message was written.
 */
export async function intendFlows(client: Queryable, request: CampaignBatchRequest): Promise<BatchMessage[]> {
  const epochs = request.claims.map(({ epoch }) => epoch);
  const values = valuesOf(request, epochs);
  const { rows } = await client.query<CheckedRow>({ name: 'intend_flows', text: flowsSql, values });
  return withoutOptedOut(rows, request);
}
