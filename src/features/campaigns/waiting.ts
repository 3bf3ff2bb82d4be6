/** Why nothing of an active campaign is sent now, as clients see it. */
import type { LimitSettings } from '../../delivery/limits/authority.ts';
import type { CampaignCounts } from '../../delivery/campaign-counts.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { CampaignRow } from './model.ts';
import { waitingFor as whatItWaitsFor } from './run/waiting.ts';
import type { CampaignProgress } from './schema.ts';

/** @returns null if the campaign is sent, or is not active */
export async function waitingFor(
  db: Queryable,
  row: CampaignRow,
  { remaining }: Pick<CampaignCounts, 'remaining'>,
  settings: LimitSettings,
): Promise<CampaignProgress['waiting_for']> {
  if (row.phase === 'sending' && remaining === 0) return null;
  const found = await whatItWaitsFor(db, row, { settings, asOf: new Date() });
  return found && { reason: found.reason, until: found.until?.toISOString() ?? null };
}
