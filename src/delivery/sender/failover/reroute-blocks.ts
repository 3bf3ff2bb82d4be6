import type { Queryable } from '../../../platform/db/queryable.ts';
import { defineSql } from '../../../platform/db/sql/define.ts';
import type { Backlog } from '../../terms/backlog.ts';
import { PROVIDER_UNAVAILABLE } from '../../ledger/limits/authority.ts';
import { wakeCampaignsCte } from '../../ledger/blocks/wake-campaigns.ts';
import { providersSql, type Rerouted } from './reroute.ts';

export const rerouteBlocksSql = defineSql(import.meta.url, './reroute_blocks.sql', {
  table: PROVIDER_UNAVAILABLE,
  regions: {
    providers: () => providersSql,
    was_held: (reason) => `b.hold_reason = '${reason}'`,
    woken_campaigns: () => wakeCampaignsCte('blocks where was_held'),
  },
});

/** Moves due blocks of an account's campaigns to the first provider of its order that works. */
export async function rerouteBlocks(
  db: Queryable,
  { channel, accountId, providerId }: Omit<Backlog, 'class' | 'queue'>,
): Promise<Rerouted> {
  const values = [channel, accountId, accountId, providerId];
  const { rows } = await db.query<Rerouted>({ ...rerouteBlocksSql, values });
  return rows[0] ?? { moved: 0, providerId: null };
}

/** When to check blocks again whose provider cannot be used. */
const HOLD_RECHECK = `interval '5 minutes'`;

/** Holds the due blocks of an account's campaigns whose provider cannot be used. @returns the number of messages */
export async function holdUnavailableBlocks(
  db: Queryable,
  { channel, accountId, providerId }: Omit<Backlog, 'class' | 'queue'>,
): Promise<number> {
  const { rows } = await db.query<{ held: number }>({
    name: 'hold_unavailable_blocks',
    text: `
    with blocks as materialized (
      select b.campaign_id, b.n from campaigns c join campaign_blocks b on b.campaign_id = c.id
      where c.account_id = $2 and c.status = 'active' and c.phase in ('snapshot', 'sending')
        and b.owner is null and b.closed_at is null and b.channel = $1 and b.provider_id = $3 and b.due_at <= now()
      order by b.campaign_id, b.n for update of b skip locked
    ), held as (
      update campaign_blocks b set due_at = now() + ${HOLD_RECHECK}, hold_reason = '${PROVIDER_UNAVAILABLE}'
      from blocks o where b.campaign_id = o.campaign_id and b.n = o.n returning b.size
    )
    select coalesce(sum(size), 0)::int as held from held`,
    values: [channel, accountId, providerId],
  });
  return rows[0]?.held ?? 0;
}
