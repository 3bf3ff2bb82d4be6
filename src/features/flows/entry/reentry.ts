import type { Reentry } from '../model.ts';

/** The runs of a contact through a flow so far. */
export interface Runs {
  /** When the last of them began. */
  last: Date;
  /** Whether one of them has not ended. */
  active: boolean;
}

/** Why a contact does not enter again. */
export type ReentryRefusal = 'already_entered' | 'too_soon' | 'in_flow';

/**
 * Whether a contact may enter a flow once more. Runs side by side are for events only: each of them may mean something
 * else, such as an order.
 * @returns null: it may
 */
export function refuseReentry(
  reentry: Reentry,
  runs: Runs,
  { byEvent, asOf }: { byEvent: boolean; asOf: Date },
): ReentryRefusal | null {
  if (reentry === 'once') return 'already_entered';
  if (reentry !== 'every_time') {
    const allowedAt = runs.last.getTime() + reentry.after_seconds * 1_000;
    if (asOf.getTime() < allowedAt) return 'too_soon';
  }
  return runs.active && !byEvent ? 'in_flow' : null;
}
