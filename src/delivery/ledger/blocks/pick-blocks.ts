/** Picks the block that a sender claims next: whose turn it is, what is due, and what the limits decide. */
import type { Queryable } from '../../../platform/db/queryable.ts';
import { defineStatement } from '../../../platform/db/statements.ts';
import type { Backlog } from '../../terms/backlog.ts';
import { ROLLING_PERIOD } from '../limits/allowance.ts';
import type { Limits, LimitSettings } from '../limits/authority.ts';
import { furtherCtes, settingIn } from '../../terms/sql-parts.ts';
import { blockLimits, sandboxOfBlocks } from '../limits/block-limits.ts';
import { decidedSql, figuresCtes, heldSql, queueColumnsSql } from '../limits/claim-decision.ts';
import type { Limit } from '../limits/limit.ts';
import { SEVERAL_COUNTRIES } from '../limits/money.ts';
import { spendCap } from '../limits/spend-cap.ts';
import { wallet } from '../limits/wallet.ts';
import { type Channel, messageClasses } from '../../terms/message.ts';
import { paidBySegmentSql } from '../../terms/units.ts';

/** When a held block is checked again if the end of its limit is not known. */
export const HOLD_RECHECK = `interval '5 minutes'`;
const MIN_HOLD = `interval '10 seconds'`;

export interface BlocksRequest extends Omit<Backlog, 'class'> {
  /** Id of the process, in `processes`. */
  owner: number;
  /** Maximum number of messages. The rest of a larger block becomes a block of its own. */
  messages: number;
}

/** A due block that the claim has locked, and what the limits decide about it. */
export interface PickedBlock {
  campaignId: number;
  n: number;
  firstId: number;
  lastId: number;
  epoch: number;
  reserved: number;
  channel: Channel;
  /** Whether its messages have reserved their prices or cost nothing. */
  paid: boolean;
  /** Roughly how many messages the spend cap and the wallet let go. */
  affordable: number;
  /** The name of the limit that lets fewer messages go: the spend cap or the wallet. */
  scarcer: string;
  /** Bytes of the content that its messages are rendered from. */
  bytes: number;
  held: boolean;
  /** How many messages the limits let go. */
  room: number;
  /**
   * How many messages the sandbox lets go that are not counted this month yet; null: they are counted, or need not be.
   */
  sandboxRoom: number | null;
  /** With {@link sandboxRoom}: the earlier month in which messages are counted, and how many. */
  sandboxMonth: string | null;
  sandboxReserved: number;
}

/**
 * SQL over the block `b`: whether its places still count. After a long pause they do not, and the block needs new ones.
 */
const PLACES_COUNT = `b.reserved_bucket > now() - ${ROLLING_PERIOD}`;

/** The columns of a queue row that limits may read, with their values for a block. */
const blockColumns: Readonly<Record<string, string>> = {
  message_id: 'b.first_id as message_id',
  queued_at: 'now() as queued_at',
  class: `${messageClasses.campaign}::smallint as class`,
  reserved_bucket: `case when ${PLACES_COUNT} then b.reserved_bucket end as reserved_bucket`,
  // The recipients of a block may be in different countries.
  price_country: `'${SEVERAL_COUNTRIES}' as price_country`,
  price_units: 'null::int as price_units',
};

const columnSql = (name: string) => blockColumns[name] ?? `b.${name}`;

/** The limits on what messages cost. */
const isOnMoney = ({ refusal }: Limit) => refusal !== undefined;
/** Whether {@link PickedBlock.room} counts the places of the limit. */
export const hasPlaces = (limit: Limit) => !isOnMoney(limit) && limit !== sandboxOfBlocks;

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

/** SQL: whether the block `b` is due and no sender owns it. */
const DUE = `b.owner is null and b.closed_at is null and b.due_at <= now() and b.channel = $3 and b.provider_id = $4`;
/** How many more blocks of a campaign a pick reads than it wants, because other transactions may have locked some. */
const SPARE = 50;

/**
 * SQL: picks due blocks of an account's active campaigns for one provider. It serves the brand that was served longest
 * ago, within the brand the campaign that was served longest ago, and within the campaign the block that is due first.
 * A throttled campaign has no due block until its next recipients may go. The limits decide on a block as on a queue
 * row; a held block is due again when its limit ends.
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
    q.price_month is not null or not wallet.pays or ${paidBySegmentSql('q.channel')} and wallet.sms_prices is null as paid,
    case when spend_cap.remaining < wallet.remaining then '${spendCap.name}' else '${wallet.name}' end as scarcer,
    q.held_by is not null as held,
    ${roomSql(table.filter(hasPlaces))} as room, ${roomSql(table.filter(isOnMoney))} as affordable,
    coalesce((select octet_length(v.html) + coalesce(octet_length(v.text), 0) from template_versions v
      where v.id = q.version_ids[q.variant + 1]), 0)::int as bytes
  from decided q ${figuresJoins(table)}`;
};

/**
 * SQL: the recipients of a block who wait for their first attempt. This is a separate statement because the pick may
 * have begun before the last owner's records were committed.
 */
const OPEN = `
  select id from messages m where m.campaign_id = $1 and m.id between $2 and $3 and m.status = 'queued'
    and ($4 or not exists (select 1 from send_queue q where q.message_id = m.id))
  order by id`;

export const pickStatement = defineStatement({
  from: import.meta.url,
  sentBy: 'pickBlocks',
  does: 'Picks and locks due blocks of an account, and holds those to which a limit applies.',
  parameters: [
    'bigint: the process',
    'bigint: the account',
    'text: the channel',
    'bigint: the provider',
    'jsonb: the settings of the limits',
    'integer: the maximum number of blocks',
  ],
  shapes: { pick_due_blocks: {} },
  compose: () => pickSql(blockLimits),
});

/** Picks and locks up to `count` due blocks, and holds those to which a limit applies. */
export async function pickBlocks(
  trx: Queryable,
  { owner, accountId, channel, providerId }: BlocksRequest,
  settings: LimitSettings,
  count: number,
): Promise<PickedBlock[]> {
  const values = [owner, accountId, channel, providerId, JSON.stringify(settings), count];
  const { rows } = await trx.query<PickedBlock>({ ...pickStatement.prepared('pick_due_blocks'), values });
  return rows;
}

/** The recipients of a block who wait for their first attempt, in the order of their ids. */
export async function openIds(trx: Queryable, block: PickedBlock): Promise<number[]> {
  const { campaignId, firstId, lastId, epoch } = block;
  const { rows } = await trx.query<{ id: number }>({
    name: 'open_recipients',
    text: OPEN,
    values: [campaignId, firstId, lastId, epoch === 0],
  });
  return rows.map(({ id }) => id);
}
