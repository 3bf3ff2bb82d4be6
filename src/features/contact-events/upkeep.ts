import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';

/** Events may be backfilled. Rows of months before these stay in the default partition. */
const PAST_MONTHS = 24;

/** A contact's history stays as long as the contact, so no partition is dropped. */
export const contactEventsUpkeep: Upkeep = {
  partitions: [
    { name: 'contact_events', period: 'month', keptDays: null, pastPeriods: PAST_MONTHS },
    { name: 'contact_engagement', period: 'month', keptDays: null },
  ],
};
