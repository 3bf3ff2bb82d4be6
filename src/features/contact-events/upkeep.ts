import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';

/** Number of past months with a partition each, because events may be backfilled. Older rows share one partition. */
const PAST_MONTHS = 24;

/** Segments use index-only scans, for which rows must be vacuumed soon after they are inserted. */
const storage =
  'with (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_insert_threshold = 10000)';

/** A contact's history stays as long as the contact, so no partition is dropped. */
export const contactEventsUpkeep: Upkeep = {
  partitions: [
    { name: 'contact_events', period: 'month', keptDays: null, pastPeriods: PAST_MONTHS, storage },
    { name: 'contact_engagement', period: 'month', keptDays: null, storage },
  ],
};
