/** The first open, and the first click of each link, of a message by a person. */
import { countStatsSql } from '../../delivery/ledger/effects/stat-changes.ts';
import type { EmailEventMessage } from '../../delivery/terms/events.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

/** A fetch of a pixel or link. */
export interface DueFetch {
  message_id: number;
  account_id: number;
  link: number;
  links: number;
  /** Whole seconds since 1970. */
  second: number;
  url: string | null;
  user_agent: string | null;
}

export interface First extends EmailEventMessage {
  link: number;
  occurred_at: Date;
  url: string | null;
  user_agent: string | null;
  account_id: number;
  brand_id: number;
  channel: string;
  class: number;
  test: boolean;
  contact_id: number | null;
  /** Whether the message had been opened before, and whether one of its links had been clicked. */
  was_opened: boolean;
  was_clicked: boolean;
  /** Whether the brand wants events of this kind now. */
  wanted: boolean;
}

/**
 * SQL: stores the first open and the first click of each link. The key of `message_interactions` decides which is the
 * first, even if two workers have fetches of the same link. Messages are locked in the order of their ids, as senders
 * do. A message without a recipient belonged to a deleted contact: neither URL nor browser is stored.
 */
const storeFirstsSql = `
  with input as (
    select * from json_to_recordset($1) as i (
      message_id bigint, account_id bigint, link smallint, second float8, url text, user_agent text)
  ), mails as materialized (
    select m.* from messages m where m.id = any($2) and m.id between $3 and $4 order by m.id for no key update
  ), firsts as (
    insert into message_interactions (message_id, link, occurred_at, url, user_agent)
    select distinct on (i.message_id, i.link) i.message_id, i.link, to_timestamp(i.second),
      case when m.to_key is not null then i.url end, case when m.to_key is not null then i.user_agent end
    from input i join mails m on m.id = i.message_id and m.account_id = i.account_id
    order by i.message_id, i.link, i.second
    on conflict do nothing
    returning *
  ), changes as (
    select message_id, min(occurred_at) filter (where link = 0) as opened_at,
      min(occurred_at) filter (where link > 0) as clicked_at
    from firsts group by message_id
  ), updated as (
    update messages m set opened_at = coalesce(m.opened_at, c.opened_at),
      clicked_at = coalesce(m.clicked_at, c.clicked_at), updated_at = now()
    from changes c where m.id = c.message_id and m.id between $3 and $4
  )${countStatsSql(
    `(
      select m.id, m.brand_id, m.class, m.channel, m.test, c.opened_at, c.clicked_at, m.opened_at is null as was_unopened,
        m.clicked_at is null as was_unclicked
      from changes c join mails m on m.id = c.message_id)`,
    {
      opened: 'u.was_unopened and u.opened_at is not null',
      clicked: 'u.was_unclicked and u.clicked_at is not null',
    },
  )}
  select f.link, f.occurred_at, f.url, f.user_agent, m.id, m.account_id, m.brand_id, m.channel, m.class, m.test,
    m.contact_id, m.opened_at is not null as was_opened, m.clicked_at is not null as was_clicked,
    m.to_address as "to", m.subject, m.idempotency_key as "idempotencyKey", m.tags,
    case when f.link = 0 then b.track_opens else b.track_clicks end as wanted
  from firsts f join mails m on m.id = f.message_id join brands b on b.id = m.brand_id order by m.id, f.link`;

/** Stores which fetches by persons were the first. */
export async function storeFirsts(client: Queryable, human: readonly DueFetch[]): Promise<First[]> {
  if (human.length === 0) return [];
  const ids = human.map((each) => each.message_id);
  const { rows } = await client.query<First>({
    name: 'store_first_interactions_counted_once',
    text: storeFirstsSql,
    values: [JSON.stringify(human), ids, Math.min(...ids), Math.max(...ids)],
  });
  return rows;
}
