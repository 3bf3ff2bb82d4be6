import { byChannelSql } from '../../terms/channels/index.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { Backlog, QueueShare } from '../../terms/backlog.ts';
import { providerKinds } from '../../wire/providers/index.ts';
import { PROVIDER_UNAVAILABLE } from '../../ledger/limits/authority.ts';
import { MESSAGE_LIFETIME } from '../../terms/message.ts';

/** Maximum number of messages that one statement moves. */
const PAGE = 1_000;

/** Kinds of providers that recognize a message that they already have. */
const repeatableKinds = providerKinds.filter(({ repeatable }) => repeatable).map(({ name }) => name);

/**
 * SQL: `target` is the first working provider in the order of the account $3 for the channel $1, other than $4.
 * `removed` is whether the provider $4 was removed; then `target` is the provider in the settings if the account has no
 * order.
 */
export const targetCtes = `
    removed as (
      select $4::bigint <> 0 and not exists (
        select from providers where id = $4 and removed_at is null) as yes
    ), target as (
      select coalesce((
        select t.id from accounts a
        cross join lateral unnest(
          ${byChannelSql('$1', ({ account }) => `a.${account.providers}`)}) with ordinality as t (id, n)
        where a.id = $3 and t.id <> $4
          and (t.id = 0 or exists (
            select from providers p where p.id = t.id and p.channel = $1 and p.removed_at is null))
          and not exists (select from provider_outages o where o.channel = $1 and o.provider_id = t.id)
        order by t.n limit 1
      ), case when yes then 0 end) as id from removed
    )`;

/** The result of moving one page. */
export interface Rerouted {
  moved: number;
  /** The provider that the messages wait for now; null if the account has no other. */
  providerId: number | null;
}

/**
 * Moves a page of a backlog to the first provider of the account's order that works. Messages that are not due yet
 * stay, and so do held ones: they are moved when they are due, if the provider still fails then. If the provider was
 * removed, all of its messages are moved, to the provider in the settings if the account has no order. Otherwise, a
 * message that had an attempt with an unknown outcome stays if its provider would recognize it: another provider might
 * send it twice. The status no longer shows this once a limit has held the message, so its events are read.
 *
 * An SMS from a number of the provider stays as well, unless the provider was removed: no other provider has the
 * number.
 *
 * Only unclaimed rows are locked, and locked rows are skipped, so this statement never waits for another while others
 * wait for it.
 */
export async function rerouteBacklog(
  db: Queryable,
  { channel, class: priority, accountId, providerId }: Backlog,
): Promise<Rerouted> {
  const { rows } = await db.query<Rerouted>({
    name: 'reroute_backlog',
    text: `
    with ${targetCtes}, keyed as (
      select exists (select from providers where id = $4 and kind = any($5)) as yes
    ), page as (
      select message_id from send_queue q
      where owner is null and channel = $1 and class = $2 and account_id = $3 and provider_id = $4
        and ((due_at <= now() and not held) or (select yes from removed)) and (select id from target) is not null
        and (attempt_count = 0 or not (select yes from keyed) or (select yes from removed)
          or not exists (select from message_events e where e.message_id = q.message_id and e.type = 'unknown'))
        and ($1 <> 'sms' or (select yes from removed) or not exists (
          select from messages m join sms_senders s on s.brand_id = m.brand_id
          where m.id = message_id and s.removed_at is null and s.provider_id = $4))
      order by due_at, message_id limit ${PAGE} for update skip locked
    ), moved as (
      update send_queue set provider_id = (select id from target)
      where message_id = any(array(select message_id from page)) returning held
    ), held_backlog as (
      insert into held_backlogs as h (account_id, channel, class, provider_id, recheck_at)
      select $3, $1, $2, id, now() from target where exists (select from moved where held)
      on conflict (account_id, channel, class, provider_id) do update set recheck_at = now()
    )
    select count(*)::int as moved, (select id from target) as "providerId" from moved`,
    values: [channel, priority, accountId, providerId, repeatableKinds],
  });
  return rows[0] ?? { moved: 0, providerId: null };
}

/**
 * Moves a page of messages that are older than their lifetime to the provider in the settings. Its share claims them,
 * and they expire before the hand-over.
 * @returns how many
 */
export async function moveExpired(
  db: Queryable,
  { channel, class: priority, accountId, providerId }: Backlog,
): Promise<number> {
  const { rowCount } = await db.query({
    name: 'move_expired',
    text: `
    update send_queue set provider_id = 0
    where message_id = any(array(
      select message_id from send_queue
      where owner is null and channel = $1 and class = $2 and account_id = $3 and provider_id = $4
        and due_at <= now() and queued_at < now() - ${MESSAGE_LIFETIME}
      order by due_at, message_id limit ${PAGE} for update skip locked))`,
    values: [channel, priority, accountId, providerId],
  });
  return rowCount ?? 0;
}

/** When to check messages again whose provider cannot be used. */
const HOLD_RECHECK = `interval '5 minutes'`;

/**
 * Holds a page of due messages whose provider cannot be used. Messages with the status `unknown` are not held. Skips
 * locked messages: a recorder that has locked a message wants its queue row next, which this statement has locked.
 * @returns the number of messages; fewer than a page: none is left but locked ones
 */
export async function holdUnavailable(
  db: Queryable,
  { channel, class: priority, accountId, providerId }: Backlog,
): Promise<number> {
  const { rowCount } = await db.query({
    name: 'hold_unavailable',
    text: `
    with page as (
      select message_id from send_queue
      where owner is null and channel = $1 and class = $2 and account_id = $3 and provider_id = $4
        and due_at <= now() and queued_at >= now() - ${MESSAGE_LIFETIME}
        and (attempt_count = 0
          or not exists (select from messages m where m.id = message_id and m.status = 'unknown'))
      order by due_at, message_id limit ${PAGE} for update skip locked
    ), marked as materialized (
      select id from hold_messages((
        select jsonb_object_agg(message_id, jsonb_build_object(
          'hold', jsonb_build_object('reason', '${PROVIDER_UNAVAILABLE}', 'until', null)))
        from page)) as h (id)
    )
    update send_queue q
    set due_at = least(now() + ${HOLD_RECHECK}, q.queued_at + ${MESSAGE_LIFETIME} + interval '1 second')
    where q.message_id = any(array(select id from marked))`,
    values: [channel, priority, accountId, providerId],
  });
  return rowCount ?? 0;
}

/** Whether there may be more to hold. */
export function isFullHold(held: number): boolean {
  return held === PAGE;
}

/** Whether there may be more to move. */
export function isFullPage({ moved }: Rerouted): boolean {
  return moved === PAGE;
}

export interface Outage extends QueueShare {
  /** Milliseconds since the provider began to fail. */
  ageMs: number;
}

export async function listOutages(db: Queryable): Promise<Outage[]> {
  const { rows } = await db.query<Outage>(
    `select channel, provider_id as "providerId", (extract(epoch from now() - since) * 1000)::float8 as "ageMs"
     from provider_outages`,
  );
  return rows;
}

/**
 * Records that a provider fails, so that new messages of accounts with a further provider go there.
 * @param retryMs when the sender tests the provider next; from then on, one message a second is accepted for the
 *   provider
 */
export async function recordOutage(
  db: Queryable,
  { channel, providerId }: QueueShare,
  { ageMs, retryMs }: { ageMs: number; retryMs: number },
): Promise<void> {
  await db.query(
    `insert into provider_outages (channel, provider_id, since, retry_at)
     values ($1, $2, now() - make_interval(secs => $3::float8 / 1000), now() + make_interval(secs => $4::float8 / 1000))
     on conflict (channel, provider_id) do update set retry_at = greatest(provider_outages.retry_at, excluded.retry_at)`,
    [channel, providerId, ageMs, retryMs],
  );
}

export async function endOutage(db: Queryable, { channel, providerId }: QueueShare): Promise<void> {
  await db.query('delete from provider_outages where channel = $1 and provider_id = $2', [
    channel,
    providerId,
  ]);
}
