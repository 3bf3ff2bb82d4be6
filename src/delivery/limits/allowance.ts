/** Sends in any 24 hours, for accounts that have no figure of their own. */
export interface TierAllowances {
  free: number;
  paid: number;
  trusted: number;
}

/**
 * SQL: how far back the rolling allowance looks. A bucket is named after the start of its ten minutes, and its last
 * send counts for 24 hours.
 */
export const ALLOWANCE_WINDOW = `interval '24 hours 10 minutes'`;
