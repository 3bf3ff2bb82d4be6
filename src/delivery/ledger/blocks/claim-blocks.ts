/** Claims a picked block for a sender: reserves what its messages need, and takes turns between campaigns. */
import type pg from 'pg';
import { inTransaction, type Queryable } from '../../../platform/db/queryable.ts';
import { defineStatement } from '../../../platform/db/statements.ts';
import { BLOCKS_CLASS } from '../../terms/backlog.ts';
import type { Limits, LimitSettings } from '../limits/authority.ts';
import { furtherCtes, settingIn } from '../../terms/sql-parts.ts';
import { blockLimits } from '../limits/block-limits.ts';
import { figuresCtes } from '../limits/claim-decision.ts';
import { SANDBOX_MONTH } from '../limits/sandbox-cap.ts';
import { isPaidByMessage } from '../../terms/units.ts';
import { ACCOUNT_LOCK, type BlockClaim, type Claim } from '../ownership/claims.ts';
import { blockPriceCtes, blockPricesSql, priceTexts, restPrices, type TextPrices } from './block-prices.ts';
import { takeSandbox } from './block-sandbox.ts';
import { endBlockClaim } from './claimed-blocks.ts';
import {
  type BlocksRequest,
  hasPlaces,
  HOLD_RECHECK,
  openIds,
  type PickedBlock,
  pickBlocks,
} from './pick-blocks.ts';

/** Maximum number of blocks that are held at once if a limit holds the first. */
const HELD_AT_ONCE = 1_000;
/** How much delay a throttled campaign catches up: senders take a block some time after it is due. */
const MAX_LATE = `interval '2 seconds'`;

/**
 * SQL: records the turns of the campaign and the brand of the block `mine`, and when the throttle lets the next
 * recipients go after the $5 that go now. Claims of an account wait for each other, so nothing else reads or writes
 * these rows meanwhile.
 */
const turnCtes = `, turn as materialized (
    select c.id, c.brand_id, clock_timestamp() as at,
      greatest(t.next_free_at, mine.due_at, now() - ${MAX_LATE})
        + make_interval(secs => ($5::int * 60.0 / (c.options ->> 'throttle_per_minute')::int)::float8) as next_free_at
    from mine join campaigns c on c.id = mine.campaign_id left join campaign_turns t on t.campaign_id = c.id
  ), campaign_turn as (
    insert into campaign_turns (campaign_id, claimed_at, next_free_at) select id, at, next_free_at from turn
    on conflict (campaign_id) do update set claimed_at = excluded.claimed_at, next_free_at = excluded.next_free_at
  ), brand_turn as (
    insert into brand_turns (brand_id, channel, provider_id, claimed_at)
    select turn.brand_id, mine.channel, mine.provider_id, turn.at from turn cross join mine
    on conflict (brand_id, channel, provider_id) do update set claimed_at = excluded.claimed_at
  )`;

/**
 * SQL: claims a block up to a given message, with places for its messages. The messages after it become another block.
 */
function claimSql(table: Limits): string {
  const taking = table.flatMap((limit) =>
    limit.quota && limit.reservation && hasPlaces(limit) ? [limit.reservation] : [],
  );
  const reserved = taking.flatMap(({ columns = [] }) =>
    columns.map(({ name, value }) => `${name} = case when $6::int > 0 then ${value} else b.${name} end`),
  );
  const places = `(
      select mine.account_id, mine.domain_id from mine cross join generate_series(1, $6::int)) taken`;
  const takes = taking.flatMap(
    ({ take }) => take?.(places, '(select id from account)', settingIn('$9::jsonb')) ?? [],
  );
  return `
  with account as materialized (
    select * from accounts where id = $8
  )${furtherCtes(figuresCtes(settingIn('$9::jsonb'), table))}, mine as materialized (
    select * from campaign_blocks where campaign_id = $2 and n = $3
  )${blockPriceCtes}, rest as (
    insert into campaign_blocks (campaign_id, n, account_id, channel, provider_id, domain_id, first_id, last_id, size,
      variant, due_at, claim_epoch, reserved_bucket, reserved, sandbox_month, sandbox_reserved, ${restPrices.columns})
    select campaign_id, (select least(0, min(n)) - 1 from campaign_blocks where campaign_id = $2), account_id, channel,
      provider_id, domain_id, $4::bigint + 1, last_id,
      (select count(*) from messages m where m.campaign_id = $2 and m.id between $4::bigint + 1 and mine.last_id),
      -- Its own tallies are not known, so it counts as claimed before.
      variant, due_at, claim_epoch + 1, reserved_bucket, greatest(0, $10::int - $5::int),
      -- What it has reserved in an earlier month returns.
      case when $13::int = 0 then sandbox_month end,
      case when $13::int = 0 then greatest(0, sandbox_reserved - $5::int) else 0 end, ${restPrices.values}
    from mine where last_id > $4
    returning size
  )${furtherCtes(takes)}${turnCtes}
  update campaign_blocks b set owner = $1, claim_epoch = b.claim_epoch + 1, hold_reason = null, last_id = $4,
    size = b.size - coalesce((select size from rest), 0), reserved = least($10::int, $5::int) + $6::int,
    sandbox_month = case when $13::int > 0 then ${SANDBOX_MONTH} else b.sandbox_month end,
    sandbox_reserved = case when $13::int > 0 then $13::int else least(b.sandbox_reserved, $5::int) end${blockPricesSql}${reserved
      .map((assignment) => `, ${assignment}`)
      .join('')}
  where b.campaign_id = $2 and b.n = $3 and b.claim_epoch = $7
  returning b.claim_epoch as epoch`;
}

export const claimBlockStatement = defineStatement({
  from: import.meta.url,
  sentBy: 'take',
  does: 'Claims a picked block up to a given message, with places for its messages. The messages after it become another block.',
  parameters: [
    'bigint: the process',
    'bigint: the campaign',
    'integer: the number of the block',
    'bigint: the last message',
    'integer: how many messages are claimed',
    'integer: how many of them need a place',
    'integer: the epoch of the block when it was picked',
    'bigint: the account',
    'jsonb: the settings of the limits',
    'integer: how many places the block has',
    'jsonb: the prices of texts by message, or null',
    'bigint[]: the waiting messages behind those that are claimed, if their prices are reserved',
    'integer: how many of the messages the sandbox counts now',
  ],
  shapes: { claim_picked_block: {} },
  version: 3,
  compose: () => claimSql(blockLimits),
});

/**
 * How many messages of a block the limits and the request let go. A block that was claimed before has its places
 * already.
 */
const countOf = (
  { messages }: BlocksRequest,
  { reserved, room, sandboxRoom, paid, affordable }: PickedBlock,
  ids: readonly number[],
): number =>
  Math.min(
    ...[ids.length, messages, reserved > 0 ? reserved : room],
    ...[sandboxRoom ?? Infinity, paid ? Infinity : affordable],
  );

/** The price of a text depends on its country. @returns null if all messages have one price or cost nothing more */
function textsOf(
  trx: Queryable,
  request: BlocksRequest,
  settings: LimitSettings,
  { block, ids }: { block: PickedBlock; ids: readonly number[] },
): Promise<TextPrices | null> {
  const { campaignId, n, channel, paid } = block;
  const first = ids.slice(0, countOf(request, block, ids));
  if (isPaidByMessage(channel) || paid || first.length === 0) return Promise.resolve(null);
  return priceTexts(trx, { campaignId, n, accountId: request.accountId }, settings, first);
}

/** Holds a block whose first text costs more than the account has left. */
async function holdForFunds(trx: Queryable, { campaignId, n, scarcer }: PickedBlock): Promise<Claim[]> {
  await trx.query({
    name: 'hold_unpaid_block',
    text: `update campaign_blocks set hold_reason = $3, due_at = now() + ${HOLD_RECHECK}
           where campaign_id = $1 and n = $2`,
    values: [campaignId, n, scarcer],
  });
  return [];
}

/** Thrown if POST /messages has taken the last places of the sandbox since the block was picked. */
class SandboxTaken extends Error {}

/** Claims a picked block. @returns its first messages, as many as the limits and the request let go */
async function take(
  trx: Queryable,
  request: BlocksRequest,
  settings: LimitSettings,
  { block, ids }: { block: PickedBlock; ids: readonly number[] },
): Promise<Claim[]> {
  const { campaignId, n, reserved, lastId, bytes } = block;
  const { owner, accountId } = request;
  const texts = await textsOf(trx, request, settings, { block, ids });
  const count = texts ? Object.keys(texts).length : countOf(request, block, ids);
  if (count === 0) return holdForFunds(trx, block);
  const places = reserved > 0 ? 0 : count;
  const sandboxPlaces = block.sandboxRoom === null ? 0 : count;
  const until = count < ids.length ? ids[count - 1] : lastId;
  const { rows } = await trx.query<{ epoch: number }>({
    ...claimBlockStatement.prepared('claim_picked_block'),
    values: [
      owner,
      campaignId,
      n,
      until,
      count,
      places,
      block.epoch,
      accountId,
      JSON.stringify(settings),
      reserved,
      texts && JSON.stringify(texts),
      block.paid ? ids.slice(count) : [],
      sandboxPlaces,
    ],
  });
  if (sandboxPlaces > 0) {
    const before = { month: block.sandboxMonth, count: block.sandboxReserved };
    if (!(await takeSandbox(trx, { accountId, count, before }, settings))) throw new SandboxTaken();
  }
  const claimed: BlockClaim = { campaignId, n, epoch: rows[0]?.epoch ?? 0 };
  return ids.slice(0, count).map((messageId): Claim => ({
    messageId,
    epoch: claimed.epoch,
    accountId,
    class: BLOCKS_CLASS,
    bytes,
    weight: 0,
    losses: 0,
    block: claimed,
  }));
}

/** The result of a claim in a backlog of blocks. */
export interface ClaimedBlock {
  /** Number of due blocks that were claimed, closed or held. 0: none is left. */
  lookedAt: number;
  claims: Claim[];
}

/**
 * Claims one block of an account's campaigns for a process, and reserves places for its messages, in one transaction.
 * Brands take turns, and so do the campaigns of a brand. If the limits let only some of its messages go, the rest waits
 * as another block. If a limit holds the account or the sender, all due blocks are held.
 *
 * As with queue rows, the commit does not wait for the disk: the commit of the first intent writes both.
 */
export async function claimBlock(
  pool: pg.Pool,
  request: BlocksRequest,
  settings: LimitSettings,
): Promise<ClaimedBlock> {
  const { empty, ...claimed } = await inTransaction(pool, (trx) => claimFirst(trx, request, settings)).catch(
    (error: unknown): Awaited<ReturnType<typeof claimFirst>> => {
      if (error instanceof SandboxTaken) return { lookedAt: 1, claims: [] };
      throw error;
    },
  );
  // Returning its reservation locks other months, so the claim's locks must be released first.
  if (empty) await endBlockClaim(pool, null, empty);
  return claimed;
}

/** Claims the first due block, see {@link claimBlock}. @returns also `empty`: a block without open recipients */
async function claimFirst(
  trx: Queryable,
  request: BlocksRequest,
  settings: LimitSettings,
): Promise<ClaimedBlock & { empty?: BlockClaim }> {
  await trx.query(
    // The months are locked before all else.
    `select set_config('synchronous_commit', 'off', true), lock_months('{${request.accountId}}');
     select pg_advisory_xact_lock(${ACCOUNT_LOCK}, ${request.accountId % 2_147_483_647})`,
  );
  const [block] = await pickBlocks(trx, request, settings, 1);
  if (!block) return { lookedAt: 0, claims: [] };
  if (block.held) {
    const held = await pickBlocks(trx, request, settings, HELD_AT_ONCE);
    return { lookedAt: 1 + held.length, claims: [] };
  }
  const ids = await openIds(trx, block);
  if (ids.length === 0) return { lookedAt: 1, claims: [], empty: block };
  return { lookedAt: 1, claims: await take(trx, request, settings, { block, ids }) };
}
