/** Picks the block that a sender claims next: whose turn it is, what is due, and what the limits decide. */
import type { Queryable } from '../../../platform/db/queryable.ts';
import { defineSql } from '../../../platform/db/sql/define.ts';
import type { Backlog } from '../../terms/backlog.ts';
import { ROLLING_PERIOD } from '../limits/allowance.ts';
import type { Limits, LimitSettings } from '../limits/authority.ts';
import { furtherCtes, settingIn } from '../../terms/sql-parts.ts';
import { blockLimits, sandboxOfBlocks } from '../limits/block-limits.ts';
import { decidedSql, figuresCtes, heldSql, queueColumnsSql } from '../limits/claim-decision.ts';
import type { Limit } from '../limits/limit.ts';
import { SEVERAL_COUNTRIES } from '../limits/money.ts';
import { type Channel, messageClasses } from '../../terms/message.ts';
import { paidBySegmentSql } from '../../terms/units.ts';

/** When a held block is checked again if the end of its limit is not known. */
export const HOLD_RECHECK = `interval '5 minutes'`;

export interface BlocksRequest extends Omit<Backlog, 'class' | 'queue'> {
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

/** SQL: the columns that limits may read, and how many places the block has that still count. */
function columnsSql(table: Limits): string {
  const columns = queueColumnsSql(table)
    .split(', ')
    .map((name) => blockColumns[name] ?? `b.${name}`);
  return [`case when ${PLACES_COUNT} then b.reserved else 0 end as reserved`, ...columns].join(', ');
}

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

export const pickDueBlocks = defineSql(import.meta.url, './pick_due_blocks.sql', {
  table: blockLimits,
  regions: {
    figures: (table) => furtherCtes(figuresCtes(settingIn('$5::jsonb'), table)),
    columns: columnsSql,
    decided: decidedSql,
    held: heldSql,
    sandbox_room: () => `case when ${sandboxOfBlocks.quota.counts} then sandbox_cap.remaining end`,
    paid: () =>
      `q.price_month is not null or not wallet.pays or ${paidBySegmentSql('q.channel')} and wallet.sms_prices is null`,
    room: (table) => roomSql(table.filter(hasPlaces)),
    affordable: (table) => roomSql(table.filter(isOnMoney)),
    joins: figuresJoins,
  },
});

/** Picks and locks up to `count` due blocks, and holds those to which a limit applies. */
export async function pickBlocks(
  trx: Queryable,
  { owner, accountId, channel, providerId }: BlocksRequest,
  settings: LimitSettings,
  count: number,
): Promise<PickedBlock[]> {
  const values = [owner, accountId, channel, providerId, JSON.stringify(settings), count];
  const { rows } = await trx.query<PickedBlock>({ ...pickDueBlocks, values });
  return rows;
}

/**
 * The recipients of a block who wait for their first attempt, in the order of their ids. This is a separate statement
 * because the pick may have begun before the last owner's records were committed.
 */
export async function openIds(trx: Queryable, block: PickedBlock): Promise<number[]> {
  const { campaignId, firstId, lastId, epoch } = block;
  const { rows } = await trx.query<{ id: number }>({
    name: 'open_recipients',
    text: `
    select id from messages m where m.campaign_id = $1 and m.id between $2 and $3 and m.status = 'queued'
      and ($4 or not exists (select 1 from send_queue q where q.message_id = m.id))
    order by id`,
    values: [campaignId, firstId, lastId, epoch === 0],
  });
  return rows.map(({ id }) => id);
}
