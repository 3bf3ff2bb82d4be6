import type pg from 'pg';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import { type Backlog, BLOCKS_CLASS } from '../backlog.ts';
import { ROLLING_PERIOD } from '../limits/allowance.ts';
import { furtherCtes, type Limits, type LimitSettings, settingIn } from '../limits/authority.ts';
import { blockLimits, sandboxOfBlocks } from '../limits/block-limits.ts';
import { decidedSql, figuresCtes, heldSql, queueColumnsSql } from '../limits/claim-decision.ts';
import type { Limit } from '../limits/limit.ts';
import { SEVERAL_COUNTRIES } from '../limits/money.ts';
import { SANDBOX_MONTH } from '../limits/sandbox-cap.ts';
import { spendCap } from '../limits/spend-cap.ts';
import { wallet } from '../limits/wallet.ts';
import { type Channel, messageClasses } from '../message.ts';
import { blockPriceCtes, blockPricesSql, priceTexts, restPrices, type TextPrices } from './block-prices.ts';
import { takeSandbox } from './block-sandbox.ts';
import { type BlockClaim, endBlockClaim } from './claimed-blocks.ts';
import { ACCOUNT_LOCK, type Claim } from '../send/claim/claim.ts';

/** How many blocks are held at once if a limit holds the first. */
const HELD_AT_ONCE = 1_000;
/** A held block is looked at again after this if it is not known when its limit ends. */
const HOLD_RECHECK = `interval '5 minutes'`;
const MIN_HOLD = `interval '10 seconds'`;

export interface BlocksRequest extends Omit<Backlog, 'class'> {
  /** Id of the process, in `processes`. */
  owner: number;
  /** Messages at most. The rest of a larger block becomes a block of its own. */
  messages: number;
}

interface PickedBlock {
  campaignId: number;
  n: number;
  firstId: number;
  lastId: number;
  epoch: number;
  reserved: number;
  channel: Channel;
  /** Its messages have reserved what they cost, or cost nothing. */
  paid: boolean;
  /** How many messages the spend cap and the wallet let go, about. */
  affordable: number;
  /** The limit on money that leaves less: the name of the spend cap or of the wallet. */
  scarcer: string;
  /** Bytes of the content that its messages are rendered from. */
  bytes: number;
  held: boolean;
  /** How many messages the limits let go. */
  room: number;
  /** How many messages the sandbox lets go that do not count this month; null: they count already, or need not. */
  sandboxRoom: number | null;
  /** With {@link sandboxRoom}: the earlier month in which they count, and how many. */
  sandboxMonth: string | null;
  sandboxReserved: number;
}

/** SQL over the block `b`: whether its places still count. After a long pause they do not, and it needs others. */
const PLACES_COUNT = `b.reserved_bucket > now() - ${ROLLING_PERIOD}`;

/** Columns that a limit may read of a queue row, as a block has them. */
const blockColumns: Readonly<Record<string, string>> = {
  message_id: 'b.first_id as message_id',
  queued_at: 'now() as queued_at',
  class: `${messageClasses.campaign}::smallint as class`,
  reserved_bucket: `case when ${PLACES_COUNT} then b.reserved_bucket end as reserved_bucket`,
  // Its recipients may have different ones.
  price_country: `'${SEVERAL_COUNTRIES}' as price_country`,
  price_units: 'null::int as price_units',
};

const columnSql = (name: string) => blockColumns[name] ?? `b.${name}`;

/** The limits on what messages cost. */
const isOnMoney = ({ refusal }: Limit) => refusal !== undefined;
/** The limits in whose places {@link PickedBlock.room} is counted. */
const hasPlaces = (limit: Limit) => !isOnMoney(limit) && limit !== sandboxOfBlocks;

/** SQL: how many messages like `q` the limits let go. */
function roomSql(table: Limits): string {
  const rooms = table.flatMap(({ name, quota }) =>
    quota
      ? [
          `case when (${quota.counts}) then ${quota.room?.('q.channel') ?? quota.remaining ?? `${name}.remaining`} end`,
        ]
      : [],
  );
  return `least(${['2147483647', ...rooms].join(', ')})::int`;
}

const figuresJoins = (table: Limits): string =>
  table.flatMap(({ name, figures, claim }) => (figures && claim ? [`cross join ${name}`] : [])).join(' ');

/** SQL: a due block `b` that no sender has. */
const DUE = `b.owner is null and b.closed_at is null and b.due_at <= now() and b.channel = $3 and b.provider_id = $4`;
/** Blocks of a campaign that a pick looks at besides those it wants: other transactions may have locked as many. */
const SPARE = 50;

/**
 * SQL: picks due blocks of active campaigns of an account for one provider: of the brand that was served longest ago, and of
 * its campaigns of the one that was served longest ago, the block that is due first. A throttled campaign has none until
 * its next recipients are free to go. The limits decide on a block as on a queue row: those that a limit holds are due again
 * when it ends.
 */
const pickSql = (table: Limits): string => {
  const columns = queueColumnsSql(table).split(', ').map(columnSql).join(', ');
  return `
  with alive as materialized (
    select id from processes where id = $1 for key share
  ), account as materialized (
    select * from accounts where id = $2
  )${furtherCtes(figuresCtes(settingIn('$5::jsonb'), table))}, sending as materialized (
    select c.id, c.version_ids, t.claimed_at, r.claimed_at as brand_claimed_at
    from campaigns c left join campaign_turns t on t.campaign_id = c.id
    left join brand_turns r on r.brand_id = c.brand_id and r.channel = $3 and r.provider_id = $4
    where c.account_id = $2 and c.status = 'active' and c.approval_state <> 'pending'
      and c.phase in ('snapshot', 'sending')
      and (t.next_free_at is null or t.next_free_at <= now() or c.options ->> 'throttle_per_minute' is null)
      -- The fence, as in a claim of queue rows.
      and (select id from alive) is not null
  ), first_due as materialized (
    -- A campaign may have many due blocks: of each, the first are read from the index.
    select b.campaign_id, b.n, c.version_ids, c.claimed_at, c.brand_claimed_at
    from sending c cross join lateral (
      select b.campaign_id, b.n from campaign_blocks b
      where b.campaign_id = c.id and ${DUE}
      order by b.due_at, b.n limit $6::int + ${SPARE}) b
  ), picked as materialized (
    select b.campaign_id, b.n, b.first_id, b.last_id, b.claim_epoch,
      case when ${PLACES_COUNT} then b.reserved else 0 end as reserved, b.sandbox_reserved, b.variant, f.version_ids, ${columns}
    from first_due f join campaign_blocks b on b.campaign_id = f.campaign_id and b.n = f.n
    where ${DUE}
    order by f.brand_claimed_at nulls first, f.claimed_at nulls first, b.due_at, b.campaign_id, b.n
    limit $6 for update of b skip locked
  ), decided as materialized (
    ${decidedSql(table)}
  ), holds as materialized (${heldSql(table)}
  ), held as (
    update campaign_blocks b set hold_reason = h.hold ->> 'reason',
      due_at = greatest(now() + ${MIN_HOLD}, coalesce((h.hold ->> 'until')::timestamptz,
        case when h.with_backlog then now() + ${HOLD_RECHECK} else h.due end))
    from decided d join holds h using (message_id)
    where d.held_by is not null and b.campaign_id = d.campaign_id and b.n = d.n
  )
  select q.campaign_id as "campaignId", q.n, q.first_id as "firstId", q.last_id as "lastId", q.claim_epoch as epoch,
    q.reserved, q.channel,
    case when ${sandboxOfBlocks.quota.counts} then sandbox_cap.remaining end as "sandboxRoom",
    q.sandbox_month::text as "sandboxMonth", q.sandbox_reserved as "sandboxReserved",
    q.price_month is not null or not wallet.pays or q.channel = 'sms' and wallet.sms_prices is null as paid,
    case when spend_cap.remaining < wallet.remaining then '${spendCap.name}' else '${wallet.name}' end as scarcer,
    q.held_by is not null as held,
    ${roomSql(table.filter(hasPlaces))} as room, ${roomSql(table.filter(isOnMoney))} as affordable,
    coalesce((select octet_length(v.html) + coalesce(octet_length(v.text), 0) from template_versions v
      where v.id = q.version_ids[q.variant + 1]), 0)::int as bytes
  from decided q ${figuresJoins(table)}`;
};

/**
 * SQL: the recipients of a block who wait for their first attempt. A statement of its own: that of the pick may have
 * begun before the last owner's records were committed.
 */
const OPEN = `
  select id from messages m where m.campaign_id = $1 and m.id between $2 and $3 and m.status = 'queued'
    and ($4 or not exists (select 1 from send_queue q where q.message_id = m.id))
  order by id`;

/** A throttled campaign makes up for so much: senders take a block some time after it is due. */
const MAX_LATE = `interval '2 seconds'`;

/**
 * SQL: notes the turns of the campaign and the brand of the block `mine`, and when the throttle lets the next recipients go,
 * of whom $5 go now. Claims of the account wait for each other, so nothing else reads or writes these rows meanwhile.
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

/** SQL: claims a block, up to a message, with places for its messages. What lies behind it becomes another block. */
function claimSql(table: Limits): string {
  const taking = table.flatMap((limit) =>
    limit.quota && limit.reservation && hasPlaces(limit) ? [limit.reservation] : [],
  );
  const reserved = taking.flatMap(({ columns = [] }) =>
    columns.map(({ name, value }) => `${name} = case when $6::int > 0 then ${value} else b.${name} end`),
  );
  const places = `(
      select mine.account_id, mine.domain_id from mine cross join generate_series(1, $6::int)) taken`;
  const takes = taking.flatMap(({ take }) => take?.(places, '(select id from account)') ?? []);
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

const pickText = pickSql(blockLimits);
const claimText = claimSql(blockLimits);

async function pick(
  trx: Queryable,
  { owner, accountId, channel, providerId }: BlocksRequest,
  settings: LimitSettings,
  count: number,
): Promise<PickedBlock[]> {
  const values = [owner, accountId, channel, providerId, JSON.stringify(settings), count];
  const { rows } = await trx.query<PickedBlock>({ name: 'pick_due_blocks', text: pickText, values });
  return rows;
}

async function openIds(trx: Queryable, block: PickedBlock): Promise<number[]> {
  const { campaignId, firstId, lastId, epoch } = block;
  const { rows } = await trx.query<{ id: number }>({
    name: 'open_recipients',
    text: OPEN,
    values: [campaignId, firstId, lastId, epoch === 0],
  });
  return rows.map(({ id }) => id);
}

/** How many messages of a block the limits and the request let go. A block that was claimed before has its places. */
const countOf = (
  { messages }: BlocksRequest,
  { reserved, room, sandboxRoom, paid, affordable }: PickedBlock,
  ids: readonly number[],
): number =>
  Math.min(
    ...[ids.length, messages, reserved > 0 ? reserved : room],
    ...[sandboxRoom ?? Infinity, paid ? Infinity : affordable],
  );

/** Texts cost what their countries do. @returns null: the block has emails, or costs nothing more */
function textsOf(
  trx: Queryable,
  request: BlocksRequest,
  settings: LimitSettings,
  { block, ids }: { block: PickedBlock; ids: readonly number[] },
): Promise<TextPrices | null> {
  const { campaignId, n, channel, paid } = block;
  const first = ids.slice(0, countOf(request, block, ids));
  if (channel === 'email' || paid || first.length === 0) return Promise.resolve(null);
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

/** POST /messages has taken the last places of the sandbox since the block was picked. */
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
    name: 'claim_picked_block',
    text: claimText,
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
    ...{ messageId, epoch: claimed.epoch, accountId, class: BLOCKS_CLASS, bytes, weight: 0, losses: 0 },
    block: claimed,
  }));
}

/** What a look at the blocks of a backlog did. */
export interface ClaimedBlock {
  /** Blocks that were due: claimed, closed or held. 0: none is left. */
  lookedAt: number;
  claims: Claim[];
}

/**
 * Claims one block of an account's campaigns for a process, and reserves places for its messages, in one transaction.
 * Brands take turns, and the campaigns of a brand. If the limits let fewer messages go than it has, the rest of it waits as another block. If a limit holds the account or
 * the sender, all due blocks are held.
 *
 * As with queue rows, the commit does not wait for the disk: that of the first intent writes both.
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
  // What it returns locks other months, so the locks of the claim must be gone.
  if (empty) await endBlockClaim(pool, null, empty);
  return claimed;
}

/** Claims the first due block, see {@link claimBlock}. @returns with `empty`: a block in which nobody waits any more */
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
  const [block] = await pick(trx, request, settings, 1);
  if (!block) return { lookedAt: 0, claims: [] };
  if (block.held) {
    const held = await pick(trx, request, settings, HELD_AT_ONCE);
    return { lookedAt: 1 + held.length, claims: [] };
  }
  const ids = await openIds(trx, block);
  if (ids.length === 0) return { lookedAt: 1, claims: [], empty: block };
  return { lookedAt: 1, claims: await take(trx, request, settings, { block, ids }) };
}
