/** Claims a picked block for a sender: reserves what its messages need, and takes turns between campaigns. */
import type pg from 'pg';
import { inTransaction, type Queryable } from '../../../platform/db/queryable.ts';
import { defineSql } from '../../../platform/db/sql/define.ts';
import { BLOCKS_CLASS } from '../../terms/backlog.ts';
import type { Limits, LimitSettings } from '../limits/authority.ts';
import { furtherCtes, settingIn } from '../../terms/sql-parts.ts';
import { blockLimits } from '../limits/block-limits.ts';
import { figuresCtes } from '../limits/claim-decision.ts';
import { isPaidByMessage, paidByMessageSql } from '../../terms/units.ts';
import { ACCOUNT_LOCK, type BlockClaim, type Claim } from '../ownership/claims.ts';
import { priceTexts, type TextPrices } from './block-prices.ts';
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

/** The limits whose places the messages of a block take when it is claimed. */
const taking = (table: Limits) =>
  table.flatMap((limit) => (limit.quota && limit.reservation && hasPlaces(limit) ? [limit.reservation] : []));

/** SQL: counts the places that the block `mine` takes. */
function takenSql(table: Limits): string {
  const places =
    '(select mine.account_id, mine.domain_id from mine cross join generate_series(1, $6::int)) taken';
  return furtherCtes(
    taking(table).flatMap(
      ({ take }) => take?.(places, '(select id from account)', settingIn('$9::jsonb')) ?? [],
    ),
  );
}

/** SQL: assignments that write the reservations of the block `b`, each with a comma before it. */
const reservedSql = (table: Limits) =>
  taking(table)
    .flatMap(({ columns = [] }) =>
      columns.map(({ name, value }) => `, ${name} = case when $6::int > 0 then ${value} else b.${name} end`),
    )
    .join('\n');

export const claimPickedBlock = defineSql(import.meta.url, './claim_picked_block.sql', {
  table: blockLimits,
  regions: {
    figures: (table) => furtherCtes(figuresCtes(settingIn('$9::jsonb'), table)),
    by_message: () => paidByMessageSql('b.channel'),
    taken: takenSql,
    reserved: reservedSql,
  },
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
    ...claimPickedBlock,
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
