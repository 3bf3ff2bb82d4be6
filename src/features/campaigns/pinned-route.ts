import type { Queryable } from '../../platform/db/queryable.ts';
import { defineSql } from '../../platform/db/sql/define.ts';
import type { Channel } from '../../delivery/terms/message.ts';
import { routeSql, type TrackingDefaults, trackedSql } from '../../delivery/ledger/accept/route.ts';

/** The provider and tracking of a campaign's messages, chosen once for all of them. */
export interface PinnedRoute {
  /** The id of the named provider; 0 for the one in the settings. */
  providerId: number;
  /** The same as in `messages.tracking`. */
  tracking: Record<string, unknown> | null;
}

export const pinRouteStatement = defineSql(import.meta.url, './pin_route.sql', {
  table: undefined,
  regions: { route: () => routeSql, tracked: () => trackedSql('$6::jsonb', 'true') },
});

/**
 * Chooses provider and tracking for many messages of one sender, in the same way as for a single message.
 * @param sender.providerId of its domain or SMS sender; null for the account's first one, or the default
 */
export async function pinRoute(
  db: Queryable,
  sender: {
    accountId: number;
    brandId: number;
    channel: Channel;
    domainId: number | null;
    providerId: number | null;
  },
  tracking: TrackingDefaults,
): Promise<PinnedRoute> {
  const { accountId, brandId, channel, domainId, providerId } = sender;
  const { rows } = await db.query<PinnedRoute>({
    ...pinRouteStatement,
    values: [accountId, brandId, channel, domainId, providerId, JSON.stringify(tracking)],
  });
  if (!rows[0]) throw new Error(`no account ${accountId}`);
  return rows[0];
}
