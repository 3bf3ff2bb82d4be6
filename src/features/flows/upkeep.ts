import { batchTask, daysBefore } from '../../platform/housekeeping/task.ts';
import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';
import { flowAudienceSource, flowRunSource } from './workflow.ts';

/** Longer than the rates of the brakes look back. */
const OUTCOME_DAYS = 8;

const flowOutcomes = batchTask(
  'flow_outcomes',
  `delete from flow_outcomes where ctid = any (array(
     select ctid from flow_outcomes where since < $1 limit $2 for update skip locked))`,
  (_deps, asOf) => daysBefore(asOf, OUTCOME_DAYS),
);

/**
 * Deletes runs that ended long ago. The last run of a contact stays, without its path, if it decides whether the contact may
 * enter again; it replaces the one that stayed before.
 */
const endedRuns = batchTask(
  'flow_runs',
  `with old as materialized (
     select id, flow_id, contact_id, test from flow_runs where ended_at < $1 and record <> '{}'
     order by ended_at limit $2 for update
   ), last as materialized (
     select old.id from old join flows f on f.id = old.flow_id
     where f.status <> 'archived' and f.trigger_data -> 'reentry' is distinct from '"every_time"'
       and exists (select 1 from contacts c where c.id = old.contact_id)
       and not exists (
         select 1 from flow_runs newer
         where newer.flow_id = old.flow_id and newer.contact_id = old.contact_id and newer.test = old.test
           and newer.id > old.id)
   ), deleted as (
     delete from flow_runs r using old
     where r.flow_id = old.flow_id and r.contact_id = old.contact_id and r.test = old.test and (
       r.id = old.id and r.id <> all (array(select id from last)) or r.id < old.id and r.record = '{}')
   ), path as (
     delete from flow_run_steps where run_id in (select id from last)
   ), kept as (
     update flow_runs r set record = '{}', event = null from last where r.id = last.id
   )
   select from old`,
  ({ config }, asOf) => daysBefore(asOf, config.FLOW_RUN_RETENTION_DAYS),
);

/** Deletes what stayed of the runs of flows that nobody can enter again. */
const runsOfArchivedFlows = batchTask(
  'archived_flow_runs',
  `delete from flow_runs where id in (
     select r.id from flows f join flow_runs r on r.flow_id = f.id
     where f.status = 'archived' and r.record = '{}' and r.ended_at < $1 limit $2)`,
  ({ config }, asOf) => daysBefore(asOf, config.FLOW_RUN_RETENTION_DAYS),
);

/** Deletes events that arrived for a run while it ended: nothing judges them. */
const lateArrivals = batchTask(
  'late_flow_arrivals',
  `delete from flow_arrivals where ctid = any (array(
     select a.ctid from flow_arrivals a join flow_runs r on r.id = a.run_id
     where r.ended_at < $1 limit $2 for update of a skip locked))`,
  (_deps, asOf) => daysBefore(asOf, 1),
);

/**
 * Contents of steps that were removed, once no version has the step that is in force, waits for approval, or is followed by
 * a run under way. Their templates go then, too.
 */
const removedContents = batchTask(
  'removed_flow_contents',
  `delete from flow_contents where (flow_id, step_id) in (
     select c.flow_id, c.step_id
     from flow_contents c join templates t on t.id = c.template_id join flows f on f.id = c.flow_id
     where t.removed_at < $1 and not exists (
       select 1 from flow_versions v
       where v.flow_id = f.id and jsonb_path_exists(v.steps, '$.**.id ? (@ == $id)', jsonb_build_object('id', c.step_id))
         and (v.id = f.version_id or v.id = (f.pending ->> 'version_id')::bigint or exists (
           select 1 from flow_runs r where r.flow_id = f.id and r.state = 'active' and r.version_id = v.id)))
     limit $2)`,
  (_deps, asOf) => daysBefore(asOf, 1),
);

/**
 * Versions that nobody needs: not the newest, nor in force, nor waiting for approval, nor followed by a run that is under
 * way or moves to it.
 */
const oldVersions = batchTask(
  'flow_versions',
  `delete from flow_versions where id in (
     select v.id from flow_versions v join flows f on f.id = v.flow_id
     where v.created_at < $1 and v.id is distinct from f.version_id
       and v.id is distinct from (f.pending ->> 'version_id')::bigint
       and exists (select 1 from flow_versions newer where newer.flow_id = f.id and newer.n > v.n)
       and not exists (select 1 from flow_runs r where r.version_id = v.id and r.state = 'active')
       and not exists (
         select 1 from flow_changes c where c.flow_id = f.id and (c.data ->> 'version_id')::bigint = v.id)
     limit $2)`,
  (_deps, asOf) => daysBefore(asOf, 1),
);

/** Contacts noted for flows that take nobody by a segment now. When they do again, all contacts are compared. */
const idleCandidates = batchTask(
  'flow_candidates',
  `delete from flow_candidates where ctid = any (array(
     select k.ctid from flow_candidates k
     where $1::timestamptz is not null and k.flow_id <> all (array(
       select f.id from flows f
       where f.status = 'active' and f.segment_id is not null and f.approval_state in ('not_required', 'approved')))
     limit $2 for update skip locked))`,
);

/** Workflows of runs and of audiences, and hourly tasks, are added here, one line each. */
export const flowsUpkeep: Upkeep = {
  tasks: [
    endedRuns,
    runsOfArchivedFlows,
    flowOutcomes,
    lateArrivals,
    removedContents,
    oldVersions,
    idleCandidates,
  ],
  expectedWorkflows: [flowAudienceSource, flowRunSource],
};
