/** Clears the data of deleted contacts from flows. */
import type { Queryable } from '../../../platform/db/queryable.ts';
import { answersSql } from '../steps/index.ts';
import { clearedPage, type Cleared } from '../../contacts/service.ts';
import { endRuns } from './ends.ts';

/** A deleted contact, as in `RemovedContact` of contacts. */
interface DeletedContact {
  contactId: number;
}

/** SQL: clears the events that started the contact's runs. */
const clearSql = `
  with run as materialized (
    select id from flow_runs where contact_id = $1 and state <> 'active' and event is not null
    order by id limit $2 for no key update
  ), cleared as (
    update flow_runs r set event = null, updated_at = now() from run where r.id = run.id
  )
  select id from run`;

const clearAnswersSql = `
  with step as materialized (
    select s.run_id, s.step_id, s.iteration
    from flow_runs r join flow_run_steps s on s.run_id = r.id
    where r.contact_id = $1 and ${answersSql('s')} and s.detail->'body' is not null
    order by s.run_id, s.step_id limit $2 for update of s
  )
  update flow_run_steps s set detail = s.detail - 'body'
  from step where s.run_id = step.run_id and s.step_id = step.step_id and s.iteration = step.iteration`;

/** SQL: deletes events that arrived while a run ended. */
const clearArrivalsSql = `
  delete from flow_arrivals where ctid = any (array(
    select a.ctid from flow_runs r join flow_arrivals a on a.run_id = r.id
    where r.contact_id = $1 and r.state <> 'active' limit $2 for update of a))`;

/** SQL: deletes the runs kept to prevent another entry of the contact. */
const deleteLastSql = `
  delete from flow_runs where id in (select id from flow_runs where contact_id = $1 and record = '{}' limit $2)`;

/**
 * Ends a page of the runs of a deleted contact, and clears the events and webhook responses stored with them.
 * @param limit maximum number of rows per statement
 */
export async function forgetContactInFlows(
  trx: Queryable,
  { contactId }: DeletedContact,
  limit: number,
): Promise<Cleared> {
  const active = await trx.query<{ id: number }>(
    `select id from flow_runs where contact_id = $1 and state = 'active' order by id limit $2`,
    [contactId, limit],
  );
  const end = { state: 'exited', reason: 'contact_deleted' } as const;
  // A cohort notices by itself that a run has ended. Many contacts may be deleted at once, each in a page of its own.
  await endRuns(
    trx,
    active.rows.map(({ id }) => id),
    end,
    { asOf: new Date(), priority: 2, wakesCohorts: false },
  );
  const cleared = await trx.query(clearSql, [contactId, limit]);
  const answers = await trx.query(clearAnswersSql, [contactId, limit]);
  const arrivals = await trx.query(clearArrivalsSql, [contactId, limit]);
  const last = await trx.query(deleteLastSql, [contactId, limit]);
  return clearedPage(
    [active, cleared, answers, arrivals, last].map(({ rowCount }) => rowCount),
    limit,
  );
}
