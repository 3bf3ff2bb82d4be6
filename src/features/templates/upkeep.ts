import {
  batchTask,
  daysBefore,
  type HousekeepingDependencies,
  type HousekeepingTask,
  inBatches,
} from '../../platform/housekeeping/task.ts';
import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';

/** How long messages may outlive their retention, in days: they are dropped by whole partitions. */
const MAX_MESSAGE_OVERHANG_DAYS = 57;

/** The earliest time from which messages may still exist. */
const lastMessages = ({ config }: HousekeepingDependencies, asOf: Date): Date =>
  daysBefore(asOf, config.MESSAGE_RETENTION_DAYS + MAX_MESSAGE_OVERHANG_DAYS);

/**
 * Removes deleted templates once none of their messages can be left. Contents that a flow may still send stay: a run
 * may reach a step that was removed long before.
 */
const removedTemplates = batchTask(
  'removed_templates',
  `delete from templates where id = any (array(
     select t.id from templates t
     where t.removed_at < $1 and not exists (select 1 from flow_contents c where c.template_id = t.id)
     order by t.removed_at limit $2))`,
  lastMessages,
);

/** Deletes the versions of templates that no longer exist, alone or with their brand. */
const orphanedVersions = batchTask(
  'orphaned_template_versions',
  `delete from template_versions where id = any (array(
     select v.id from template_versions v
     where v.created_at < $1 and not exists (select 1 from templates t where t.id = v.template_id) limit $2))`,
);

/**
 * SQL: whether the version `v` is the present one of its template, or its campaign or flow sends it. Campaigns and
 * flows send only versions of their own templates.
 */
const NAMED = `exists (
  select 1 from templates t where t.id = v.template_id and (t.version_id = v.id
    or exists (select 1 from campaigns c where c.id = t.campaign_id and v.id = any(c.version_ids))
    or exists (select 1 from flow_contents f where f.flow_id = t.flow_id and f.version_id = v.id)))`;

/** Number of versions that one statement checks. */
const PAGE_VERSIONS = 1_000;

const MARK_PAGE = `
  with page as materialized (
    select v.id, v.unnamed_at, ${NAMED} as named from template_versions v
    where v.id > $1 order by v.id limit ${PAGE_VERSIONS}
  ), changed as materialized (
    select o.id, p.named from page p join template_versions o on o.id = p.id
    where (p.unnamed_at is null) <> p.named for no key update of o skip locked
  ), marked as (
    update template_versions o set unnamed_at = case when c.named then null else $2::timestamptz end
    from changed c where o.id = c.id
  )
  select max(id) as last, count(*)::int as count from page`;

/** Records since when nothing names a version. Messages that are made later cannot have it. */
async function markUnnamed(
  { database }: HousekeepingDependencies,
  asOf: Date,
  progress: () => void,
): Promise<void> {
  let after = 0;
  for (;;) {
    const { rows } = await database.pool.query<{ last: number | null; count: number }>(MARK_PAGE, [
      after,
      asOf,
    ]);
    progress();
    const { last = null, count = 0 } = rows[0] ?? {};
    if (last === null || count < PAGE_VERSIONS) return;
    after = last;
  }
}

/** Deletes versions of existing templates that nothing names, once none of their messages can be left. */
const oldVersions: HousekeepingTask = {
  name: 'old_template_versions',
  async run(deps, asOf, progress) {
    await markUnnamed(deps, asOf, progress);
    const statement = `
      delete from template_versions where id = any (array(
        select v.id from template_versions v where v.unnamed_at < $1 and not ${NAMED}
        order by v.unnamed_at limit $2 for update skip locked))`;
    return inBatches(deps, statement, [lastMessages(deps, asOf)], progress);
  },
};

export const templatesUpkeep: Upkeep = { tasks: [removedTemplates, orphanedVersions, oldVersions] };
