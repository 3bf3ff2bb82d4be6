/** Clears what messages say about a deleted contact. The messages themselves stay, for counts and reports. */
import { cancelMessages } from '../../delivery/cancel.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

const REASON = 'the contact was deleted';

/** Messages to one address of a brand. */
export interface Recipient {
  brandId: number;
  key: string;
  /** Messages accepted later are someone else's, as ISO 8601. */
  until: string;
}

interface Found {
  id: number;
  queued: boolean;
}

async function findPage(
  db: Queryable,
  { brandId, key, until }: Recipient,
  after: number,
  limit: number,
): Promise<Found[]> {
  const { rows } = await db.query<Found>(
    `select m.id, exists (select 1 from send_queue q where q.message_id = m.id) as queued
     from messages m where m.brand_id = $1 and m.to_key = $2 and m.id > $3 and m.created_at <= $4
     order by m.id limit $5`,
    [brandId, key, after, until, limit],
  );
  return rows;
}

/**
 * Cancels the queued messages to an address, page by page.
 * @param db a pool: each page commits for itself
 */
export async function cancelQueued(db: Queryable, recipient: Recipient, pageSize: number): Promise<void> {
  let after = 0;
  for (;;) {
    const page = await findPage(db, recipient, after, pageSize);
    const queued = page.filter((message) => message.queued).map(({ id }) => id);
    await cancelMessages(db, queued, REASON);
    if (page.length < pageSize) return;
    after = page.at(-1)?.id ?? after;
  }
}

const CLEAR = `
  with ids as materialized (
    select m.id from messages m where m.id = any($1) and m.id between $2 and $3 order by m.id for no key update
  ), cleared as (
    update messages m set to_address = null, to_key = null, subject = null, tags = null, response = null,
      idempotency_key = null, updated_at = now(),
      failure = case when failure is null then null
        else jsonb_build_object('code', failure -> 'code', 'message', 'removed with the contact') end,
      bounce = case when bounce is null then null
        else bounce || jsonb_build_object('diagnostic', 'removed with the contact') end
    from ids where m.id = ids.id and m.id between $2 and $3
  ), contents as (
    delete from message_contents where message_id = any($1) and message_id between $2 and $3
  ), events as (
    update message_events set data = jsonb_strip_nulls(jsonb_build_object('provider', data -> 'provider'))
    where message_id = any($1) and message_id between $2 and $3 and data is not null
  ), interactions as (
    update message_interactions set url = null, user_agent = null
    where message_id = any($1) and message_id between $2 and $3
  ), fetches as (
    delete from tracking_fetches where message_id = any($1)
  ), captured as (
    delete from captured_messages where message_id = any($1)
  )
  update tracking_hits set ip = null, user_agent = null where message_id = any($1)`;

export interface ClearedPage {
  /** The number of messages looked at. */
  found: number;
  /** The last message looked at; null if none are left after it. */
  last: number | null;
  /** Whether some are on their way to a provider. They are cleared when their outcome is known. */
  underWay: boolean;
}

/** Cancels or clears one page of the messages to an address. */
export async function clearMessages(
  trx: Queryable,
  recipient: Recipient,
  after: number,
  limit: number,
): Promise<ClearedPage> {
  const page = await findPage(trx, recipient, after, limit);
  const queued = page.filter((message) => message.queued).map(({ id }) => id);
  const canceled = new Set(await cancelMessages(trx, queued, REASON));
  const ids = page.filter((message) => !message.queued || canceled.has(message.id)).map(({ id }) => id);
  if (ids.length > 0) await trx.query(CLEAR, [ids, Math.min(...ids), Math.max(...ids)]);
  return {
    found: page.length,
    last: page.length < limit ? null : (page.at(-1)?.id ?? null),
    underWay: ids.length < page.length,
  };
}
