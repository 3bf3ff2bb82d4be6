import type { Queryable } from '../../../platform/db/queryable.ts';
import type { Backlog } from '../../terms/backlog.ts';
import { PROVIDER_UNAVAILABLE } from '../../ledger/limits/authority.ts';
import { wakeCampaignsCte } from '../../ledger/blocks/wake-campaigns.ts';
import { type Rerouted, targetCtes } from './reroute.ts';

/**
 * Moves due blocks of an account's campaigns to the first provider of its order that works, as `rerouteBacklog` moves
 * queue rows. If their provider was removed, it moves all blocks. Blocks that a sender has claimed stay, and so do SMS
 * from a number of the provider. Blocks that were held for the former provider become due at once.
 */
export async function rerouteBlocks(
  db: Queryable,
  { channel, accountId, providerId }: Omit<Backlog, 'class'>,
): Promise<Rerouted> {
  const { rows } = await db.query<Rerouted>({
    name: 'reroute_held_blocks',
    text: `
    with ${targetCtes}, blocks as materialized (
      select b.campaign_id, b.n, b.hold_reason = '${PROVIDER_UNAVAILABLE}' as was_held
      from campaigns c join campaign_blocks b on b.campaign_id = c.id
      where c.account_id = $2 and c.status = 'active' and c.phase in ('snapshot', 'sending')
        and b.owner is null and b.closed_at is null and b.channel = $1 and b.provider_id = $4
        and (b.due_at <= now() or (select yes from removed)) and (select id from target) is not null
        and ($1 <> 'sms' or (select yes from removed) or not exists (
          select from sms_senders s where s.brand_id = c.brand_id and s.removed_at is null and s.provider_id = $4))
      order by b.campaign_id, b.n for update of b skip locked
    ), moved as (
      update campaign_blocks b set provider_id = (select id from target),
        due_at = case when o.was_held then least(b.due_at, now()) else b.due_at end,
        hold_reason = case when o.was_held then null else b.hold_reason end
      from blocks o where b.campaign_id = o.campaign_id and b.n = o.n returning b.size
    )${wakeCampaignsCte('blocks where was_held')}
    select coalesce(sum(size), 0)::int as moved, (select id from target) as "providerId" from moved`,
    values: [channel, accountId, accountId, providerId],
  });
  return rows[0] ?? { moved: 0, providerId: null };
}

/** When to check blocks again whose provider cannot be used. */
const HOLD_RECHECK = `interval '5 minutes'`;

/** Holds the due blocks of an account's campaigns whose provider cannot be used. @returns the number of messages */
export async function holdUnavailableBlocks(
  db: Queryable,
  { channel, accountId, providerId }: Omit<Backlog, 'class'>,
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
