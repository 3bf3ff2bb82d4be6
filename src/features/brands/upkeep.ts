import { batchTask, daysBefore } from '../../platform/housekeeping/task.ts';
import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';
import { scrapeSource } from './scrape/workflow.ts';

const SCRAPE_DAYS = 30;

/** Deletes scrapes that ended long ago, except for each brand's latest one, which the brand shows. */
const oldScrapes = batchTask(
  'old_scrapes',
  `delete from brand_scrapes where id = any (array(
     select s.id from brand_scrapes s
     where s.finished_at < $1
       and exists (select 1 from brand_scrapes newer where newer.brand_id = s.brand_id and newer.id > s.id)
     limit $2))`,
  (_deps, asOf) => daysBefore(asOf, SCRAPE_DAYS),
);

export const brandsUpkeep: Upkeep = { tasks: [oldScrapes], expectedWorkflows: [scrapeSource] };
