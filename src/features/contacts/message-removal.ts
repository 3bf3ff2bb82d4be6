/** Clears what messages say about a deleted contact. The messages themselves stay, for counts and reports. */
import { lockCampaignForChange } from '../../delivery/blocks/campaign-lock.ts';
import { cancelMessages, skipRecipients } from '../../delivery/cancel.ts';
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
  /** The message belongs to this campaign and has no outcome. */
  waitsFor: number | null;
  /** Recipients of its campaign are still being written: to no address twice, so its address must be known. */
  compared: boolean;
}

/** SQL: the messages of a recipient, with whether they wait in the queue. */
const FOUND = `
  select m.id, exists (select 1 from send_queue q where q.message_id = m.id) as queued,
    case when m.status in ('queued', 'held') then m.campaign_id end as "waitsFor",
    m.campaign_id is not null and exists (
      select 1 from campaigns c where c.id = m.campaign_id and c.phase = 'snapshot' and c.outcome is null) as compared
  from messages m where m.brand_id = $1 and m.to_key = $2 and m.created_at <= $3`;

async function findPage(
  db: Queryable,
  { brandId, key, until }: Recipient,
  after: number,
  limit: number,
): Promise<Found[]> {
  const { rows } = await db.query<Found>(`${FOUND} and m.id > $4 order by m.id limit $5`, [
    brandId,
    key,
    until,
    after,
    limit,
  ]);
  return rows;
}

/**
 * Cancels the queued messages among the newest to an address. Messages that wait are new, but for some that are scheduled;
 * the worker finds those.
 */
export async function cancelQueued(
  db: Queryable,
  { brandId, key, until }: Recipient,
  limit: number,
): Promise<void> {
  const { rows } = await db.query<Found>(`${FOUND} order by m.id desc limit $4`, [
    brandId,
    key,
    until,
    limit,
  ]);
  await cancelMessages(
    db,
    // Recipients of campaigns are skipped when the contact is gone.
    rows.filter(({ queued, waitsFor }) => queued && waitsFor === null).map(({ id }) => id),
    REASON,
  );
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
  ), engagement as (
    delete from contact_engagement e using (
      select m.brand_id, m.id, t.kind, t.at from messages m
      cross join lateral (values (0, m.sent_at), (1, m.opened_at), (2, m.clicked_at)) t (kind, at)
      where m.id = any($1) and m.id between $2 and $3 and t.at is not null
    ) t where e.brand_id = t.brand_id and e.kind = t.kind and e.created_at = t.at and e.message_id = t.id
  ), captured as (
    delete from captured_messages where message_id = any($1)
  )
  update tracking_hits set ip = null, user_agent = null where message_id = any($1)`;

/**
 * Deletes the fetches of messages that are tracked at the moment. Call it before anything locks the messages, because
 * deciding who fetched them locks fetches before messages, too.
 */
async function forgetFetchesOf(trx: Queryable, ids: readonly number[]): Promise<void> {
  await trx.query(
    `with found as materialized (
       select message_id, link, fetched_at from tracking_fetches where message_id = any($1)
       order by message_id, link, fetched_at for update)
     delete from tracking_fetches f using found
     where f.message_id = found.message_id and f.link = found.link and f.fetched_at = found.fetched_at`,
    [ids],
  );
}

async function clear(trx: Queryable, ids: readonly number[]): Promise<void> {
  if (ids.length > 0) await trx.query(CLEAR, [ids, Math.min(...ids), Math.max(...ids)]);
}

export interface ClearedPage {
  /** The number of messages looked at. */
  found: number;
  /** The last message looked at; null if none are left after it. */
  last: number | null;
  /** Whether some are on their way to a provider. They are cleared later. */
  underWay: boolean;
}

/** Skips the recipients of campaigns in a page. Their campaigns' intents are stopped meanwhile. @returns their messages */
async function skipWaiting(trx: Queryable, page: readonly Found[]): Promise<number[]> {
  const waiting = page.flatMap(({ id, waitsFor }) => (waitsFor === null ? [] : { id, waitsFor }));
  const campaigns = [...new Set(waiting.map(({ waitsFor }) => waitsFor))];
  // In the order in which intents take the locks.
  campaigns.sort((one, other) => one - other);
  for (const campaign of campaigns) await lockCampaignForChange(trx, campaign);
  return skipRecipients(
    trx,
    waiting.map(({ id }) => id),
    { code: 'contact_deleted', message: REASON },
  );
}

/**
 * Ends the messages of a page that wait.
 * @returns all that may be cleared: none is on its way to a provider
 */
async function endedOf(trx: Queryable, page: readonly Found[]): Promise<Found[]> {
  const ended = new Set(await skipWaiting(trx, page));
  const waiting = page.filter(({ queued, waitsFor }) => queued && waitsFor === null).map(({ id }) => id);
  for (const id of await cancelMessages(trx, waiting, REASON)) ended.add(id);
  return page.filter(({ id, queued, waitsFor }) => (!queued && waitsFor === null) || ended.has(id));
}

/**
 * Keeps hashes of addresses that campaigns have written to, so that another contact who gets such an address while
 * recipients are still being written is not written to. A paused campaign may never write the others.
 * @param messages about to be cleared
 */
async function keepHashes(trx: Queryable, messages: readonly Found[]): Promise<void> {
  // A recipient who waited was not sent to, so another contact with the address may be.
  const ids = messages.filter(({ compared, waitsFor }) => compared && waitsFor === null).map(({ id }) => id);
  if (ids.length === 0) return;
  await trx.query(
    `insert into campaign_removed_recipients (campaign_id, address_hash)
     select distinct m.campaign_id, removed_recipient_hash(m.campaign_id, m.to_key) from messages m
     where m.id = any($1) and m.id between $2 and $3 and m.to_key is not null order by 1, 2
     on conflict do nothing`,
    [ids, Math.min(...ids), Math.max(...ids)],
  );
}

/**
 * Cancels or clears one page of the messages to an address.
 * @param removalId remembers them for {@link clearAgain}
 */
export async function clearMessages(
  trx: Queryable,
  removalId: number,
  recipient: Recipient,
  after: number,
  limit: number,
): Promise<ClearedPage> {
  const page = await findPage(trx, recipient, after, limit);
  if (page.length === 0) return { found: 0, last: null, underWay: false };
  await forgetFetchesOf(
    trx,
    page.map(({ id }) => id),
  );
  const ended = await endedOf(trx, page);
  await keepHashes(trx, ended);
  const ids = ended.map(({ id }) => id);
  await clear(trx, ids);
  await trx.query(
    `insert into cleared_messages (removal_id, message_id) select $1, id from unnest($2::bigint[]) as u (id)
     on conflict do nothing`,
    [removalId, ids],
  );
  return {
    found: page.length,
    last: page.length < limit ? null : (page.at(-1)?.id ?? null),
    underWay: ids.length < page.length,
  };
}

/**
 * Clears messages once more that an earlier pass has cleared: a fetch that was being stored at the time did not see it.
 * @returns how many there were, at most `limit`
 */
export async function clearAgain(trx: Queryable, removalId: number, limit: number): Promise<number> {
  const { rows } = await trx.query<{ id: number }>(
    `delete from cleared_messages where removal_id = $1 and message_id = any(array(
       select message_id from cleared_messages where removal_id = $1 order by message_id limit $2))
     returning message_id as id`,
    [removalId, limit],
  );
  const ids = rows.map(({ id }) => id);
  if (ids.length === 0) return 0;
  await forgetFetchesOf(trx, ids);
  await clear(trx, ids);
  return ids.length;
}
