/**
 * Everything that happens to the recipients of a campaign besides sending: pause, resume, cancel and requeue. Stop the
 * campaign's intents first.
 */
import { paidByMessageSql, paidBySegmentSql } from '../../terms/units.ts';
import type { Waker } from '../../../platform/db/wake.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { defineSql } from '../../../platform/db/sql/define.ts';
import type { Regions } from '../../../platform/db/sql/regions.ts';
import type { PreparedStatement } from '../../../platform/db/statements.ts';
import { backlogName, BLOCKS_CLASS } from '../../terms/backlog.ts';
import { leaveQueueSql } from '../effects/leave-queue.ts';
import { isIntendedSql } from '../ownership/open-intents.ts';
import { giveBackCtes, limits, type Limits } from '../limits/authority.ts';
import { furtherCtes } from '../../terms/sql-parts.ts';
import { returnSandboxCtes } from '../limits/block-limits.ts';
import { type Channel, messageClasses } from '../../terms/message.ts';

/** Maximum number of recipients in a block. */
export const MAX_BLOCK = 1_000;

/**
 * Maximum number of retries that a pause moves. The others come due while the campaign is paused; senders do not send
 * them then.
 */
const MAX_HELD = 20_000;

/**
 * Holds the retries of a campaign that is being paused, soonest first.
 * @param trx holds the campaign's lock, see `lockCampaignForChange`
 * @returns how many
 */
export async function holdRetries(trx: Queryable, campaignId: number): Promise<number> {
  const { rowCount } = await trx.query({
    name: 'hold_retries',
    text: `
    with held as materialized (
      select message_id from send_queue q where campaign_id = $1 and due_at < 'infinity'
      order by message_id limit ${MAX_HELD} for update skip locked
    )
    update send_queue set due_at = 'infinity' where message_id = any(array(select message_id from held))`,
    values: [campaignId],
  });
  return rowCount ?? 0;
}

/**
 * Makes due the retries of a campaign that a pause held.
 * @param trx holds the campaign's lock, see `lockCampaignForChange`
 * @returns how many
 */
export async function releaseRetries(trx: Queryable, campaignId: number): Promise<number> {
  const { rowCount } = await trx.query({
    name: 'release_retries',
    text: `
    with held as materialized (
      select message_id from send_queue q where campaign_id = $1 and due_at = 'infinity' order by message_id for update
    )
    update send_queue set due_at = now() where message_id = any(array(select message_id from held))`,
    values: [campaignId],
  });
  return rowCount ?? 0;
}

/**
 * SQL: marks the blocks of messages whose outcome has changed, so that their tallies are counted again. A block is
 * locked even if it is marked already: a recount in progress would miss the change. Blocks are locked after messages,
 * in the order of their keys.
 * @param changed SQL: a table with `campaign_id` and `id` of messages that the statement has changed
 */
export const markForRecountSql = (changed: string): string => changedBlocksSql(blocksOfSql(changed));

/** SQL: the blocks of messages. @param messages SQL: a table with `campaign_id` and `id` */
export const blocksOfSql = (messages: string): string => `
      select o.campaign_id, o.n from (${messages}) u cross join lateral (
        select campaign_id, n, first_id from campaign_blocks
        where campaign_id = u.campaign_id and last_id >= u.id order by campaign_id, last_id limit 1) o
      where o.first_id <= u.id`;

/** SQL over the block `b`: what its messages have used up. */
interface UsedOfBlock {
  /** How many places. */
  places: string;
  /** How many messages were attempted, whatever the outcome; default: none. */
  attempted?: string;
  /** How many emails are charged: those that were sent, and those that may have been. */
  emails: string;
  /** The texts that are charged, as `{message id: segments}`; segments null: as many as are reserved. */
  texts: string;
}

/** SQL: messages are counted only for blocks of the sandbox, which are few. */
const attemptedSql = (attempted: string): string => `
      sandbox_reserved = case when b.sandbox_reserved > 0 then greatest(0, b.sandbox_reserved - (${attempted})) else 0 end,`;

const NOTHING_USED: UsedOfBlock = { places: '0', emails: '0', texts: 'null::jsonb' };

/**
 * SQL: marks blocks as {@link markForRecountSql} does, and subtracts the places and the prices that their messages have
 * used. Emails that cost nothing are used first. `block_charges` has what was taken: `emails`, `free` of these, `texts`
 * and `millicents`, with `unit_millicents` and `price_list` of the block.
 *
 * Each block is locked in its own subquery, which reads only `campaign_blocks`. In a join with `blocks`, PostgreSQL
 * repeats the join for each block that it had to wait for; if `blocks` is a `union all`, it then finds one block and
 * drops the others.
 * @param blocks SQL: a select of `campaign_id` and `n`
 */
export const changedBlocksSql = (blocks: string, used: Partial<UsedOfBlock> = {}): string => {
  const { places, attempted, emails, texts } = { ...NOTHING_USED, ...used };
  return `, changed_blocks as materialized (
    select locked.* from (select distinct campaign_id, n from (${blocks}) as changed (campaign_id, n)
      order by campaign_id, n) k
    cross join lateral (
      select campaign_id, n, account_id, channel, price_month, price_units, free_units, unit_millicents, price_list
      from campaign_blocks b where b.campaign_id = k.campaign_id and b.n = k.n for no key update) locked
  ), block_charges as materialized (
    select b.*, p.emails, p.free, p.texts, p.charged_units, p.millicents
    from changed_blocks b cross join lateral (
      select u.emails, least(u.emails, b.free_units) as free, null::jsonb as texts, u.emails as charged_units,
        (u.emails - least(u.emails, b.free_units)) * b.unit_millicents as millicents
      from (select least(b.price_units, ${emails}) as emails) u where ${paidByMessageSql('b.channel')}
      union all
      select 0, 0, u.texts, c.units, c.millicents
      from (select ${texts} as texts) u cross join lateral (
        select coalesce(sum(l.units), 0)::int as units,
          coalesce(sum((l.price ->> 0)::bigint * l.units / greatest(1, (l.price ->> 1)::int)), 0)::bigint as millicents
        from (
          select b.price_list -> t.key as price,
            least((b.price_list -> t.key ->> 1)::int, coalesce(t.value::int, (b.price_list -> t.key ->> 1)::int)) as units
          from jsonb_each_text(u.texts) t where b.price_list ? t.key) l) c
      where ${paidBySegmentSql('b.channel')}) p
    where b.price_month is not null
  ), marked_blocks as (
    update campaign_blocks b set recount = true, claim_epoch = greatest(b.claim_epoch, 1),
      reserved = greatest(0, b.reserved - (${places})),${attempted === undefined ? '' : attemptedSql(attempted)}
      price_units = b.price_units - coalesce(p.charged_units, 0), free_units = b.free_units - coalesce(p.free, 0),
      price_millicents = greatest(0, b.price_millicents - coalesce(p.millicents, 0))
    from changed_blocks c left join block_charges p using (campaign_id, n)
    where b.campaign_id = c.campaign_id and b.n = c.n
  )`;
};

/**
 * SQL: stores what the messages of blocks without a known outcome are charged. Needs {@link changedBlocksSql}. The
 * first emails are charged, the last are free.
 * @param unknown SQL: a table with `campaign_id`, `n` and `id`
 */
export const unknownOfBlocksSql = (unknown: string): string => `, unknown_of_blocks as (
    insert into unknown_charges (message_id, account_id, channel, month, millicents, units)
    select u.id, b.account_id, b.channel, b.price_month,
      case b.channel when 'email' then case when u.place <= b.emails - b.free then b.unit_millicents else 0 end
        else coalesce((b.price_list -> u.id::text ->> 0)::bigint, 0) end,
      case b.channel when 'email' then 1 else coalesce((b.price_list -> u.id::text ->> 1)::int, 0) end
    from (select campaign_id, n, id, row_number() over (partition by campaign_id, n order by id) as place
      from (${unknown}) o) u join block_charges b using (campaign_id, n)
    on conflict do nothing
  )`;

/**
 * SQL: whether a block in `batches` no longer contains all messages of its batch. If a sender was taken for dead, its
 * block may be divided before its outcomes arrive.
 */
export const isDividedSql = `exists (
      select 1 from batches t where not exists (
        select 1 from campaign_blocks b
        where b.campaign_id = t.campaign_id and b.n = t.n and b.first_id <= t.first_id and b.last_id >= t.last_id))`;

/** The result of one page of a cancellation. */
export interface CanceledPage {
  canceled: number;
  /** Whether nothing is open any more. If not, call again: intents may be under way, which takes minutes at most. */
  done: boolean;
}

export const cancelRetries = defineSql(import.meta.url, './cancel_retries.sql', {
  table: limits,
  regions: {
    intended: () => isIntendedSql,
    leave_queue: (table) =>
      leaveQueueSql(
        'array(select id from locked)',
        `array(select id from locked where status in ('queued', 'held') and not uncertain)`,
        table,
        { unknown: 'array(select id from locked where uncertain)' },
      ),
    marked_blocks: () => markForRecountSql('select campaign_id, id from updated'),
  },
});

export const cancelBlocks = defineSql(import.meta.url, './cancel_blocks.sql', {
  table: undefined,
  regions: { intended: () => isIntendedSql },
});

/** SQL: whether recipients of the block `b` are open: they wait for their first attempt, or lie under an intent. */
const hasOpenSql = `exists (
      select 1 from messages m
      where m.campaign_id = b.campaign_id and m.id between b.first_id and b.last_id and m.status in ('queued', 'held')
        and not exists (select 1 from send_queue q where q.message_id = m.id))`;

/** SQL: returns the places and the prices of the blocks in `closed`, as they were before the update. */
const returnedSql = (table: Limits): string =>
  furtherCtes([
    ...giveBackCtes(
      `(
      select account_id, channel, reserved_bucket, null::date as price_month, 0::bigint as price_millicents,
        0 as price_units
      from closed cross join lateral generate_series(1, reserved)
      union all
      select account_id, channel, null, price_month, 0, free_units from closed where price_month is not null
      union all
      select account_id, channel, null, price_month, price_millicents, price_units - free_units
      from closed where price_month is not null) places`,
      table,
    ),
    ...returnSandboxCtes(
      '(select count(*) from months_given_back) + (select count(*) from allowance_given_back) >= 0',
    ),
  ]);

/** The regions of statements that close blocks. */
export const closingRegions: Regions<Limits> = { has_open: () => hasOpenSql, returned: returnedSql };

export const shutBlocksSql = defineSql(import.meta.url, './shut_blocks.sql', {
  table: limits,
  regions: closingRegions,
});

/** Closes blocks that have no open recipients. @param blocks null: all blocks of the campaign */
async function shutBlocks(
  trx: Queryable,
  campaignId: number,
  blocks: readonly number[] | null,
): Promise<void> {
  await trx.query({ ...shutBlocksSql, values: [campaignId, blocks] });
}

/**
 * Cancels a page of the recipients of a campaign who still wait. The campaign must no longer be active, and the
 * transaction that stopped it must have held its lock. Recipients of batches that were intended before get the outcomes
 * of these; those with an attempt whose outcome is unknown become `unknown`.
 * @param limit approximate number of recipients
 */
export async function cancelCampaignMessages(
  trx: Queryable,
  campaignId: number,
  limit: number,
): Promise<CanceledPage> {
  const cancel = async (statement: PreparedStatement) =>
    (await trx.query<{ count: number; blocks?: number[] }>({ ...statement, values: [campaignId, limit] }))
      .rows[0];
  const retries = (await cancel(cancelRetries))?.count ?? 0;
  // That statement has locked blocks. Messages are locked before blocks, so the next transaction cancels messages of
  // blocks.
  if (retries > 0) return { canceled: retries, done: false };
  const page = await cancel(cancelBlocks);
  // This is a separate statement, so that it sees what the other has changed.
  await shutBlocks(trx, campaignId, page?.blocks ?? []);
  const canceled = page?.count ?? 0;
  if (canceled > 0) return { canceled, done: false };
  // The blocks that are left have no open recipients, or are under intents.
  await shutBlocks(trx, campaignId, null);
  const { rows } = await trx.query<{ open: boolean }>(
    `select exists (select 1 from campaign_blocks where campaign_id = $1 and closed_at is null)
       or exists (select 1 from send_queue where campaign_id = $1) as open`,
    [campaignId],
  );
  return { canceled: 0, done: rows[0]?.open !== true };
}

export const requeueUnknownSql = defineSql(import.meta.url, './requeue_unknown.sql');

/**
 * Queues once more a page of the recipients that are `unknown`. They stay `unknown` until they have an outcome.
 * @param limit of the page
 * @returns how many were queued; fewer than the limit: none is left
 */
export async function requeueUnknown(trx: Queryable, campaignId: number, limit: number): Promise<number> {
  const { rowCount } = await trx.query({ ...requeueUnknownSql, values: [campaignId, limit] });
  return rowCount ?? 0;
}

/** A campaign's share of the queue of one provider. */
export interface CampaignShare {
  accountId: number;
  channel: Channel;
  providerId: number;
}

/** Wakes senders. Call it after the commit of new or released blocks or retries of a campaign. */
export function wakeCampaign(waker: Pick<Waker, 'wake'>, share: CampaignShare): void {
  const { accountId, channel, providerId } = share;
  const backlogs = [BLOCKS_CLASS, messageClasses.campaign].map((priority) =>
    backlogName({ accountId, channel, providerId, class: priority }),
  );
  waker.wake('send', backlogs);
}
