import type { Queryable } from '../../platform/db/queryable.ts';
import { defineStatement } from '../../platform/db/statements.ts';
import type { Channel } from '../../delivery/terms/message.ts';
import { routeSql, type TrackingDefaults, trackedSql } from '../../delivery/ledger/accept/write-statement.ts';

/** The provider and tracking of a campaign's messages, chosen once for all of them. */
export interface PinnedRoute {
  /** The id of the named provider; 0 for the one in the settings. */
  providerId: number;
  /** The same as in `messages.tracking`. */
  tracking: Record<string, unknown> | null;
}

const STATEMENT = `
  select ${routeSql} as "providerId", ${trackedSql('$6::jsonb')} as tracking
  from (select $1::bigint as account_id, $2::bigint as brand_id, $3::text as channel, $4::bigint as domain_id,
    $5::bigint as provider_id, '<p>' as html, null::jsonb as tracking) i
  join accounts a on a.id = i.account_id`;

export const pinRouteStatement = defineStatement({
  from: import.meta.url,
  sentBy: 'pinRoute',
  does: 'Chooses provider and tracking for the messages of a campaign.',
  parameters: [
    'bigint: the account',
    'bigint: the brand',
    'text: the channel',
    'bigint: the domain of the sender, or null',
    'bigint: the provider of the sender, or null',
    'jsonb: the address and the key of tracked links',
  ],
  shapes: { pin_route: {} },
  version: 1,
  compose: () => STATEMENT,
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
    ...pinRouteStatement.prepared('pin_route'),
    values: [accountId, brandId, channel, domainId, providerId, JSON.stringify(tracking)],
  });
  if (!rows[0]) throw new Error(`no account ${accountId}`);
  return rows[0];
}
