/** What happens to the recipients of a campaign other than by sending. Intents of the campaign must be stopped first. */
import type { Waker } from '../platform/db/wake.ts';
import type { Queryable } from '../platform/db/queryable.ts';
import { backlogName, BLOCKS_CLASS } from './backlog.ts';
import { leaveQueueSql } from './effects.ts';
import { furtherCtes, giveBackCtes, limits } from './limits/authority.ts';
import { type Channel, messageClasses } from './message.ts';

/** The most retries that a pause moves. The others wait when they are due: a sender does not send them. */
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
 * Makes the retries of a campaign due that a pause held.
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
 * locked even if it is marked already: its tallies may be being counted, and would miss the change. Blocks are locked
 * after messages, in the order of their keys.
 * @param changed SQL: a table with `campaign_id` and `id` of messages that the statement has changed
 */
export const markForRecountSql = (changed: string): string => changedBlocksSql(blocksOfSql(changed));

/** SQL: the blocks of messages. @param messages SQL: a table with `campaign_id` and `id` */
export const blocksOfSql = (messages: string): string => `
      select o.campaign_id, o.n from (${messages}) u cross join lateral (
        select campaign_id, n, first_id from campaign_blocks
        where campaign_id = u.campaign_id and last_id >= u.id order by campaign_id, last_id limit 1) o
      where o.first_id <= u.id`;

/**
 * SQL: marks blocks as {@link markForRecountSql} does, and takes the places that their messages have used.
 * @param blocks SQL: a select of `campaign_id` and `n`
 * @param used SQL over the block `b`: how many places
 */
export const changedBlocksSql = (blocks: string, used = '0'): string => `, changed_blocks as materialized (
    select b.campaign_id, b.n from campaign_blocks b where (b.campaign_id, b.n) in (${blocks})
    order by b.campaign_id, b.n for no key update
  ), marked_blocks as (
    update campaign_blocks b set recount = true, claim_epoch = greatest(b.claim_epoch, 1),
      reserved = greatest(0, b.reserved - (${used}))
    from changed_blocks c where b.campaign_id = c.campaign_id and b.n = c.n
  )`;

/** What one page of a cancellation did. */
export interface CanceledPage {
  canceled: number;
  /** Nothing is open any more. False: call again; intents may be under way, which takes minutes at most. */
  done: boolean;
}

const CANCELED = `jsonb_build_object('code', 'canceled', 'message', 'the campaign was canceled')`;

/** SQL: whether an intent covers the message `m`. */
export const isIntendedSql = `exists (select 1 from handovers h where m.id = any(h.message_ids))`;

/** SQL: an attempt at the message `m` has no outcome that is known: it may have been sent, whatever waits for another. */
export const isUncertainSql = `exists (
      select 1 from message_events e where e.message_id = m.id and e.type = 'unknown')`;

const cancelRetriesSql = `
  with page as materialized (
    select q.message_id from send_queue q where q.campaign_id = $1 order by q.message_id limit $2
  ), locked as materialized (
    select m.id, m.status, m.status = 'unknown' or ${isUncertainSql} as uncertain
    from messages m where m.id = any(array(select message_id from page)) and not ${isIntendedSql}
    order by m.id for no key update
  ), updated as (
    update messages m set status = case when l.uncertain then 'unknown' else 'canceled' end, hold = null,
      updated_at = now(), failure = case when l.uncertain then null else ${CANCELED} end
    from locked l where m.id = l.id and l.status in ('queued', 'held')
    returning m.id, m.campaign_id
  )${leaveQueueSql(
    'array(select id from locked)',
    `array(select id from locked where status in ('queued', 'held') and not uncertain)`,
    limits,
  )}${markForRecountSql('select campaign_id, id from updated')}
  select count(*)::int as count from updated`;

/** Blocks that a page of a cancellation takes, at most. Those of a throttled campaign are small. */
const MAX_PAGE_BLOCKS = 1_000;

const cancelBlocksSql = `
  with first as materialized (
    select n, first_id, last_id, size from campaign_blocks b
    where campaign_id = $1 and closed_at is null and exists (
      select 1 from messages m
      where m.campaign_id = b.campaign_id and m.id between b.first_id and b.last_id and m.status in ('queued', 'held')
        and not ${isIntendedSql})
    order by n limit ${MAX_PAGE_BLOCKS}
  ), blocks as materialized (
    select n, first_id, last_id from (
      select n, first_id, last_id, sum(size) over (order by n) - size as before from first) f
    where before < $2
  ), locked as materialized (
    select m.id from messages m join blocks b on m.id between b.first_id and b.last_id
    where m.campaign_id = $1 and m.status in ('queued', 'held') and not ${isIntendedSql}
    order by m.id for no key update of m
  ), updated as (
    update messages m set status = 'canceled', hold = null, updated_at = now(), failure = ${CANCELED}
    from locked l where m.id = l.id returning m.id
  )
  select (select count(*)::int from updated) as count, array(select n from blocks) as blocks`;

/** SQL: whether recipients of the block `b` wait: for a first attempt, or under an intent. */
export const hasOpenSql = `exists (
      select 1 from messages m
      where m.campaign_id = b.campaign_id and m.id between b.first_id and b.last_id and m.status in ('queued', 'held')
        and not exists (select 1 from send_queue q where q.message_id = m.id))`;

/** SQL: returns the places of the rows `closed`: blocks as they were before. */
export const returnPlacesSql = (): string =>
  furtherCtes(
    giveBackCtes(`(
      select account_id, reserved_bucket from closed cross join lateral generate_series(1, reserved)) places`),
  );

/** SQL: closes those of the chosen blocks of which no recipient waits. @param chosen SQL over the block `b` */
const closeBlocksSql = (chosen: string) => `
  with shut as materialized (
    select b.n from campaign_blocks b
    where b.campaign_id = $1 and b.closed_at is null and ${chosen} and not ${hasOpenSql}
    order by b.n limit ${MAX_PAGE_BLOCKS}
  ), closed as materialized (
    select b.campaign_id, b.n, b.account_id, b.reserved_bucket, b.reserved from campaign_blocks b
    where b.campaign_id = $1 and b.n = any(array(select n from shut)) and b.closed_at is null
    order by b.campaign_id, b.n for update
  )${returnPlacesSql()}
  update campaign_blocks b
  set closed_at = now(), owner = null, claim_epoch = b.claim_epoch + 1, reserved = 0, hold_reason = null, recount = true
  from closed c where b.campaign_id = c.campaign_id and b.n = c.n`;

const closePageSql = closeBlocksSql('b.n = any($2::int[])');
const closeRestSql = closeBlocksSql('true');

/**
 * Cancels a page of the recipients of a campaign who still wait. The campaign must no longer be active, and the
 * transaction that changed it must have held its lock. Recipients of batches that were intended before are left to their
 * outcomes; those of whom an attempt is `unknown` stay so.
 * @param limit about so many at once
 */
export async function cancelCampaignMessages(
  trx: Queryable,
  campaignId: number,
  limit: number,
): Promise<CanceledPage> {
  const cancel = async (name: string, text: string) =>
    (await trx.query<{ count: number; blocks?: number[] }>({ name, text, values: [campaignId, limit] }))
      .rows[0];
  const retries = (await cancel('cancel_retries', cancelRetriesSql))?.count ?? 0;
  // It has locked blocks. Messages are locked before blocks, so those of others wait for the next transaction.
  if (retries > 0) return { canceled: retries, done: false };
  const page = await cancel('cancel_blocks', cancelBlocksSql);
  // A statement of its own, which sees what the other has changed.
  await trx.query({
    name: 'close_canceled_blocks',
    text: closePageSql,
    values: [campaignId, page?.blocks ?? []],
  });
  const canceled = page?.count ?? 0;
  if (canceled > 0) return { canceled, done: false };
  // What is left lies under intents, or none of its recipients waits.
  await trx.query({ name: 'close_other_blocks', text: closeRestSql, values: [campaignId] });
  const { rows } = await trx.query<{ open: boolean }>(
    `select exists (select 1 from campaign_blocks where campaign_id = $1 and closed_at is null)
       or exists (select 1 from send_queue where campaign_id = $1) as open`,
    [campaignId],
  );
  return { canceled: 0, done: rows[0]?.open !== true };
}

/**
 * Queues a page of the recipients whose attempt is `unknown` once more. They stay `unknown` until they have an outcome.
 * @param limit how many at once
 * @returns how many; fewer than the limit: no other is unknown
 */
export async function requeueUnknown(trx: Queryable, campaignId: number, limit: number): Promise<number> {
  const { rowCount } = await trx.query({
    name: 'requeue_unknown',
    text: `
    insert into send_queue (message_id, account_id, channel, class, due_at, queued_at, attempt_count, domain_id,
      provider_id, campaign_id)
    select m.id, m.account_id, m.channel, m.class, now(), now(), m.attempt_count, b.domain_id, b.provider_id, b.campaign_id
    from campaign_blocks b cross join lateral (
      select * from messages m
      where m.campaign_id = b.campaign_id and m.id between b.first_id and b.last_id and m.status = 'unknown'
        and m.sent_at is null) m
    where b.campaign_id = $1 and (b.unknown > 0 or b.recount or b.closed_at is null)
      and not exists (select 1 from send_queue q where q.message_id = m.id)
    order by m.id limit $2
    on conflict do nothing`,
    values: [campaignId, limit],
  });
  return rowCount ?? 0;
}

/** The blocks of a campaign that wait for one provider. */
export interface CampaignShare {
  accountId: number;
  channel: Channel;
  providerId: number;
}

/** Wakes senders after the commit of new or released blocks of a campaign, and of retries of it. */
export function wakeCampaign(waker: Pick<Waker, 'wake'>, share: CampaignShare): void {
  const { accountId, channel, providerId } = share;
  const backlogs = [BLOCKS_CLASS, messageClasses.campaign].map((priority) =>
    backlogName({ accountId, channel, providerId, class: priority }),
  );
  waker.wake('send', backlogs);
}
