import { batchTask, daysBefore, type HousekeepingTask, inBatches } from '../../platform/housekeeping/task.ts';
import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';
import { campaignSource } from './workflow.ts';

/** How long finished list fills are kept, in days. */
const FILL_DAYS = 90;

/** Removes deleted drafts after a day, when nothing reads them any more. */
const deletedDrafts = batchTask(
  'deleted_campaigns',
  `delete from campaigns where id = any (array(
     select id from campaigns where removed_at < $1 order by id limit $2))`,
  (_deps, asOf) => daysBefore(asOf, 1),
);

const listFills = batchTask(
  'campaign_list_fills',
  `delete from campaign_list_fills where id = any (array(
     select id from campaign_list_fills where finished_at < $1 order by id limit $2))`,
  (_deps, asOf) => daysBefore(asOf, FILL_DAYS),
);

/** Only the pages of a snapshot read these rows. */
const removedRecipients: HousekeepingTask = {
  name: 'campaign_removed_recipients',
  run: (deps, _asOf, progress) =>
    inBatches(
      deps,
      `delete from campaign_removed_recipients where (campaign_id, address_hash) in (
         select campaign_id, address_hash from campaign_removed_recipients r
         where not exists (
           select 1 from campaigns c where c.id = r.campaign_id and c.phase = 'snapshot' and c.outcome is null)
         limit $1)`,
      [],
      progress,
    ),
};

export const campaignsUpkeep: Upkeep = {
  tasks: [deletedDrafts, listFills, removedRecipients],
  expectedWorkflows: [campaignSource],
};
