import { batchTask, daysBefore } from '../../platform/housekeeping/task.ts';
import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';

/** Deletes templates that were deleted so long ago that no message of theirs is left. */
const removedTemplates = batchTask(
  'removed_templates',
  `delete from templates where id = any (array(
     select id from templates where removed_at < $1 order by removed_at limit $2))`,
  ({ config }, asOf) => daysBefore(asOf, config.MESSAGE_RETENTION_DAYS + 1),
);

/** Deletes the versions of templates that are gone, also with their brand. */
const orphanedVersions = batchTask(
  'orphaned_template_versions',
  `delete from template_versions where id = any (array(
     select v.id from template_versions v
     where v.created_at < $1 and not exists (select 1 from templates t where t.id = v.template_id) limit $2))`,
);

export const templatesUpkeep: Upkeep = { tasks: [removedTemplates, orphanedVersions] };
