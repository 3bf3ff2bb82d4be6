/**
 * Clears the personal data of a deleted contact from its messages. The messages themselves stay, for counts and
 * reports.
 */
import { lockCampaignForChange } from '../../delivery/ledger/ownership/campaign-lock.ts';
import { cancelMessages, skipRecipients } from '../../delivery/ledger/cancel/cancel.ts';
import { clearLettersOf } from '../../delivery/ledger/upkeep/clear-letters.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

const REASON = 'the contact was deleted';

/** Messages to one address of a brand. */
export interface Recipient {
  brandId: number;
  key: string;
  /** In ISO 8601. Messages accepted later belong to another contact. */
  until: string;
}

interface Found {
  id: number;
  queued: boolean;
  /** The id of the campaign, if the message is one of its recipients that still wait. */
  waitsFor: number | null;
  /** Whether its campaign still writes recipients. It writes to no address twice, so this address must stay known. */
  compared: boolean;
}

/** SQL: the messages of a recipient, and whether they wait in the queue. */
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
 * Cancels the queued messages among the newest to an address. Most messages that wait are new. The worker finds the
 * others, which are scheduled.
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
    // Recipients of campaigns are skipped anyway once the contact is deleted.
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
 * Deletes the recent tracked fetches of the messages. Call it before anything locks the messages: the decision who
 * fetched them also locks fetches before messages.
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
  if (ids.length === 0) return;
  await trx.query(CLEAR, [ids, Math.min(...ids), Math.max(...ids)]);
  await clearLettersOf(trx, ids);
}

/** Removes an address from the headers of letters that went to others. */
async function forgetNamed(trx: Queryable, { brandId, key, until }: Recipient): Promise<void> {
  await trx.query(
    `delete from letter_addresses a using letters l
     where a.brand_id = $1 and a.address_key = $2 and l.id = a.letter_id and l.created_at <= $3`,
    [brandId, key, until],
  );
}

export interface ClearedPage {
  /** The number of messages read. */
  found: number;
  /** The id of the last message read; null if none are left after it. */
  last: number | null;
  /** Whether some are on their way to a provider. They are cleared later. */
  underWay: boolean;
}

/** Skips the recipients of campaigns in a page, while the intents of their campaigns wait. @returns their messages */
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
 * @returns the messages of the page that may be cleared: none is on its way to a provider
 */
async function endedOf(trx: Queryable, page: readonly Found[]): Promise<Found[]> {
  const ended = new Set(await skipWaiting(trx, page));
  const waiting = page.filter(({ queued, waitsFor }) => queued && waitsFor === null).map(({ id }) => id);
  for (const id of await cancelMessages(trx, waiting, REASON)) ended.add(id);
  return page.filter(({ id, queued, waitsFor }) => (!queued && waitsFor === null) || ended.has(id));
}

/**
 * Keeps hashes of addresses to which campaigns have sent. If another contact gets such an address while the campaign
 * still chooses recipients, it is then left out. This may take long: a paused campaign may never finish.
 * @param messages about to be cleared
 */
async function keepHashes(trx: Queryable, messages: readonly Found[]): Promise<void> {
  // Nothing was sent to a recipient that waited, so another contact with the address may still get the campaign.
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
 * @param removalId under which cleared messages are recorded for {@link clearAgain}
 */
export async function clearMessages(
  trx: Queryable,
  removalId: number,
  recipient: Recipient,
  after: number,
  limit: number,
): Promise<ClearedPage> {
  const cleared = await clearPage(trx, removalId, recipient, after, limit);
  // Last, because other removals lock a letter before its addresses.
  if (after === 0) await forgetNamed(trx, recipient);
  return cleared;
}

async function clearPage(
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
 * Clears messages of an earlier pass once more: a fetch that was being stored at the time may have written to them
 * since.
 * @returns the number of messages, at most `limit`
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
