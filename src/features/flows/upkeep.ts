import { batchTask, daysBefore, type HousekeepingTask } from '../../platform/housekeeping/task.ts';
import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';
import { flowAudienceSource, flowCohortSource, flowRunSource } from './workflow.ts';

/** How long outcomes are kept, in days: longer than `brakes.ts` looks back. */
const OUTCOME_DAYS = 8;

const flowOutcomes = batchTask(
  'flow_outcomes',
  `delete from flow_outcomes where ctid = any (array(
     select ctid from flow_outcomes where since < $1 limit $2 for update skip locked))`,
  (_deps, asOf) => daysBefore(asOf, OUTCOME_DAYS),
);

/**
 * Deletes runs that ended long ago. A contact's last run stays, without its path, if it decides whether the contact may
 * enter again; it replaces the one kept before.
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

/** Deletes cohorts whose runs are gone. The last of a flow stays, so that its number is not given to another one. */
const endedCohorts = batchTask(
  'flow_cohorts',
  `delete from flow_cohorts where id in (
     select c.id from flow_cohorts c
     where c.ended_at < $1 and c.n < (select max(n) from flow_cohorts newer where newer.flow_id = c.flow_id)
       and not exists (select 1 from flow_runs r where r.cohort_id = c.id)
     limit $2)`,
  ({ config }, asOf) => daysBefore(asOf, config.FLOW_RUN_RETENTION_DAYS),
);

/** The hour (UTC) in which all rows of runs are scanned. */
const WALK_HOUR = 2;
const WALK_PAGE = 20_000;

/**
 * Once a night, deletes kept runs that no longer decide about an entry: the flow is archived or can be entered every
 * time, or the contact is deleted or has a newer run.
 */
const lastRuns: HousekeepingTask = {
  name: 'last_flow_runs',
  async run({ config, database: { pool } }, asOf, progress) {
    if (asOf.getUTCHours() !== WALK_HOUR) return 0;
    const before = daysBefore(asOf, config.FLOW_RUN_RETENTION_DAYS);
    let total = 0;
    for (let after: number | null = 0; after !== null;) {
      const { rows }: { rows: { last: number | null; deleted: number }[] } = await pool.query(
        `with page as materialized (
           select id, flow_id, contact_id, test, record, ended_at from flow_runs where id > $1 order by id limit $2
         ), deleted as (
           delete from flow_runs r using page p join flows f on f.id = p.flow_id
           where r.id = p.id and p.record = '{}' and p.ended_at < $3 and (
             f.status = 'archived' or f.trigger_data -> 'reentry' = '"every_time"'
             or not exists (select 1 from contacts c where c.id = p.contact_id)
             or exists (
               select 1 from flow_runs newer
               where newer.flow_id = p.flow_id and newer.contact_id = p.contact_id and newer.test = p.test
                 and newer.id > p.id))
           returning r.id
         )
         select (select max(id) from page) as last, (select count(*) from deleted) as deleted`,
        [after, WALK_PAGE, before],
      );
      after = rows[0]?.last ?? null;
      total += rows[0]?.deleted ?? 0;
      progress();
    }
    return total;
  },
};

/** Deletes events that arrived for a run while it ended; no step will read them. */
const lateArrivals = batchTask(
  'late_flow_arrivals',
  `delete from flow_arrivals where ctid = any (array(
     select a.ctid from flow_arrivals a join flow_runs r on r.id = a.run_id
     where r.ended_at < $1 limit $2 for update of a skip locked))`,
  (_deps, asOf) => daysBefore(asOf, 1),
);

/**
 * Deletes contents of removed steps once the step is in no version that is in force, waits for approval, or is followed
 * by an active run. Without these rows, their templates can be deleted, too.
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

/** Unused versions that people may still compare with the present one. */
const KEPT_VERSIONS = 10;

/**
 * Deletes unused versions: those that are not among the newest, in force, waiting for approval, or followed by a run
 * that is active or moves to them.
 */
const oldVersions = batchTask(
  'flow_versions',
  `delete from flow_versions where id in (
     select v.id from flow_versions v join flows f on f.id = v.flow_id
     where v.created_at < $1 and v.id is distinct from f.version_id
       and v.id is distinct from (f.pending ->> 'version_id')::bigint
       and v.n < (select n from flow_versions newer where newer.flow_id = f.id
                  order by n desc limit 1 offset ${KEPT_VERSIONS - 1})
       and not exists (select 1 from flow_runs r where r.version_id = v.id and r.state = 'active')
       and not exists (
         select 1 from flow_changes c where c.flow_id = f.id and (c.data ->> 'version_id')::bigint = v.id)
     limit $2)`,
  (_deps, asOf) => daysBefore(asOf, 1),
);

/** Deletes candidates of flows that no segment feeds now. If one does again, all contacts are compared. */
const idleCandidates = batchTask(
  'flow_candidates',
  `delete from flow_candidates where ctid = any (array(
     select k.ctid from flow_candidates k
     where $1::timestamptz is not null and k.flow_id <> all (array(
       select f.id from flows f
       where f.status = 'active' and f.segment_id is not null and f.approval_state in ('not_required', 'approved')))
     limit $2 for update skip locked))`,
);

/** How long after a change of a flow its messages are checked, in days. */
const CHANGED_DAYS = 2;

/**
 * Requests a change of messages that still wait although their flow is no longer paused. During an upgrade, a process
 * of an earlier version may have resumed or archived the flow without requesting it.
 */
const waitingMessages = batchTask(
  'waiting_flow_messages',
  `insert into flow_message_changes (flow_id, change, up_to)
   select f.id, case f.status when 'archived' then 'cancel' else 'release' end,
     (select max(q.message_id) from send_queue q where q.flow_id = f.id)
   from flows f
   where f.updated_at > $1 and f.status in ('active', 'archived')
     and not exists (select 1 from flow_message_changes c where c.flow_id = f.id and c.change <> 'hold')
     and exists (select 1 from send_queue q where q.flow_id = f.id and q.due_at = 'infinity')
   limit $2`,
  (_deps, asOf) => daysBefore(asOf, CHANGED_DAYS),
);

/** SQL: the tags in everything of a brand that has steps. A mask ends with its tag. */
const USED_TAGS = `
  select found[1] from (
    select f.steps::text as text from flows f where f.brand_id = $1
    union all
    select v.steps::text from flow_versions v join flows f on f.id = v.flow_id where f.brand_id = $1
    union all
    select concat(d.content::text, d.base_content::text) from drafts d where d.brand_id = $1 and d.flow_id is not null
  ) with_steps, regexp_matches(text, '#([a-z2-7]{16})"', 'g') found`;

/** Once a night, deletes values of headers that no flow, version or draft has any more. */
const unusedHeaders: HousekeepingTask = {
  name: 'flow_header_secrets',
  async run({ database: { pool } }, asOf, progress) {
    if (asOf.getUTCHours() !== WALK_HOUR) return 0;
    const before = daysBefore(asOf, 1);
    const { rows: brands } = await pool.query<{ brand_id: number }>(
      'select distinct brand_id from flow_header_secrets where used_at < $1 order by brand_id',
      [before],
    );
    let total = 0;
    for (const { brand_id: brandId } of brands) {
      const { rowCount } = await pool.query(
        `delete from flow_header_secrets
         where brand_id = $1 and used_at < $2 and tag not in (${USED_TAGS})`,
        [brandId, before],
      );
      total += rowCount ?? 0;
      progress();
    }
    return total;
  },
};

/** The workflows of runs and audiences, and the hourly tasks: add one line for each new one. */
export const flowsUpkeep: Upkeep = {
  tasks: [
    endedRuns,
    lastRuns,
    endedCohorts,
    flowOutcomes,
    lateArrivals,
    removedContents,
    oldVersions,
    idleCandidates,
    waitingMessages,
    unusedHeaders,
  ],
  expectedWorkflows: [flowAudienceSource, flowCohortSource, flowRunSource],
  sealed: [
    {
      table: 'flow_header_secrets',
      column: 'value_sealed',
      row: `brand_id || '/' || tag || '/' || origin`,
      accountId: 'account_id',
    },
  ],
};
