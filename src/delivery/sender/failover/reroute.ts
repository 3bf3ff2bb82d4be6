import { byChannelSql } from '../../terms/channels/index.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { defineSql } from '../../../platform/db/sql/define.ts';
import type { Backlog, QueueShare } from '../../terms/backlog.ts';
import { repeatableKinds } from '../../wire/providers/index.ts';
import { PROVIDER_UNAVAILABLE } from '../../ledger/limits/authority.ts';
import { MESSAGE_LIFETIME } from '../../terms/message.ts';

/** Maximum number of messages that one statement moves. */
const PAGE = 1_000;

/** SQL: the order of providers of the account `a` for the channel $1. */
export const providersSql = byChannelSql('$1', ({ account }) => `a.${account.providers}`);

/** The result of moving one page. */
export interface Rerouted {
  moved: number;
  /** The provider that the messages wait for now; null if the account has no other. */
  providerId: number | null;
}

export const rerouteBacklogSql = defineSql(import.meta.url, './reroute_backlog.sql', {
  table: undefined,
  regions: { providers: () => providersSql, page: () => `${PAGE}` },
});

/** Moves a page of a backlog that has no letters to the first provider of the account's order that works. */
export async function rerouteBacklog(
  db: Queryable,
  { channel, class: priority, accountId, providerId }: Omit<Backlog, 'queue'>,
): Promise<Rerouted> {
  const values = [channel, priority, accountId, providerId, repeatableKinds];
  const { rows } = await db.query<Rerouted>({ ...rerouteBacklogSql, values });
  return rows[0] ?? { moved: 0, providerId: null };
}

/**
 * Moves a page of messages that are older than their lifetime to the provider in the settings. Its share claims them,
 * and they expire before the hand-over.
 * @returns how many
 */
export async function moveExpired(
  db: Queryable,
  { queue, class: priority, accountId, providerId }: Backlog,
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
    values: [queue, priority, accountId, providerId],
  });
  return rowCount ?? 0;
}

export const holdUnavailableSql = defineSql(import.meta.url, './hold_unavailable.sql', {
  table: PROVIDER_UNAVAILABLE,
  regions: {
    lifetime: () => MESSAGE_LIFETIME,
    page: () => `${PAGE}`,
    hold: (reason) => `jsonb_build_object('hold', jsonb_build_object('reason', '${reason}', 'until', null))`,
  },
});

/**
 * Holds a page of due messages whose provider cannot be used.
 * @returns the number of messages; fewer than a page: none is left but locked ones
 */
export async function holdUnavailable(
  db: Queryable,
  { queue, class: priority, accountId, providerId }: Backlog,
): Promise<number> {
  const values = [queue, priority, accountId, providerId];
  return (await db.query({ ...holdUnavailableSql, values })).rowCount ?? 0;
}

/** Whether there may be more to hold. */
export function isFullHold(held: number): boolean {
  return held === PAGE;
}

/** Whether there may be more to move. */
export function isFullPage({ moved }: Pick<Rerouted, 'moved'>): boolean {
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
