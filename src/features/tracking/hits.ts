import type { Queryable } from '../../platform/db/queryable.ts';
import { type FetchVerdict, judgeFetch } from './bots.ts';
import { BURST_SECONDS } from './bursts.ts';
import type { TrackedTarget } from './tokens.ts';

/** A fetch of a tracked link or pixel. */
export interface Hit {
  target: TrackedTarget;
  at: Date;
  method: string;
  userAgent: string;
  /** From the headers `Sec-Purpose` and `Purpose`. */
  purpose: string;
  ip: string | null;
}

/** Maximum number of hits stored for one message and hour. Further ones are only counted. */
export const MAX_HITS_AN_HOUR = 100;
/**
 * Maximum number of rows of one message in `tracking_fetches`. Rows are kept for a minute and there is one for each
 * link and second, so only messages with more than `FEW_LINKS` links can exceed it. Further hits are stored or counted,
 * but they are not evidence, and clicks among them are not reported.
 */
export const MAX_FETCHES = 3_000;
const FEW_LINKS = 40;
const MAX_USER_AGENT = 500;
/** How long after a click it is decided: all fetches that may belong to the same burst must be committed. */
const DECIDED_AFTER_MS = (BURST_SECONDS + 2) * 1_000;
const HOUR_MS = 3_600_000;

/** A row of `tracking_hits`. */
interface HitRow {
  /** Counted from 1 among the hits of the message and hour. */
  nth: number;
  link: number;
  at: string;
  is_bot: boolean;
  reason: string | null;
  user_agent: string | null;
  ip: string | null;
}

/** The hits of one message in one hour. */
interface HourOfHits {
  message_id: number;
  account_id: number;
  hour: string;
  count: number;
  hits: HitRow[];
}

/** A row of `tracking_fetches`. */
interface FetchRow {
  nth: number;
  link: number;
  links: number;
  second: string;
  due_at: string | null;
  url: string | null;
  user_agent: string | null;
}

/** The fetches of one message, one for each link and second. */
interface MessageFetches {
  message_id: number;
  account_id: number;
  many: boolean;
  fetches: FetchRow[];
}

/** When to decide whether a person made the fetch; null if there is nothing to decide. */
function dueAt({ target, at }: Hit, { mayBeHuman, isCertain }: FetchVerdict): string | null {
  if (!mayBeHuman) return null;
  const due = isCertain || target.links < 2 ? at : new Date(at.getTime() + DECIDED_AFTER_MS);
  return due.toISOString();
}

/** The input of one statement, grouped so that each message, and each of its hours, is looked up once. */
class HitInput {
  readonly #hours = new Map<string, HourOfHits>();
  readonly #messages = new Map<number, MessageFetches>();
  readonly #fetches = new Map<string, FetchRow>();

  add(hit: Hit): void {
    const { target, method, purpose } = hit;
    const userAgent = hit.userAgent.slice(0, MAX_USER_AGENT);
    const verdict = judgeFetch({ method, userAgent, purpose, pixel: target.link === 0 });
    this.#addHit(hit, verdict, userAgent === '' ? null : userAgent);
    this.#addFetch(hit, verdict, userAgent === '' ? null : userAgent);
  }

  #addHit({ target, at, ip }: Hit, { isBot, reason }: FetchVerdict, userAgent: string | null): void {
    const { messageId, accountId, link } = target;
    const hour = Math.floor(at.getTime() / HOUR_MS) * HOUR_MS;
    const key = `${messageId} ${hour}`;
    let group = this.#hours.get(key);
    if (!group) {
      const start = new Date(hour).toISOString();
      group = { message_id: messageId, account_id: accountId, hour: start, count: 0, hits: [] };
      this.#hours.set(key, group);
    }
    group.count += 1;
    const common = { nth: group.count, link, at: at.toISOString(), is_bot: isBot, reason };
    if (group.count <= MAX_HITS_AN_HOUR) group.hits.push({ ...common, user_agent: userAgent, ip });
  }

  #addFetch(hit: Hit, verdict: FetchVerdict, userAgent: string | null): void {
    const { messageId, accountId, link, url } = hit.target;
    // With a single link, there is no burst that could reveal a machine.
    const links = verdict.mayBeHuman && verdict.isCertain ? 1 : hit.target.links;
    const due = dueAt(hit, verdict);
    if (due === null && (link === 0 || links < 2)) return;
    const second = `${hit.at.toISOString().slice(0, 19)}Z`;
    const key = `${messageId} ${link} ${second}`;
    const known = this.#fetches.get(key);
    if (known && (known.due_at !== null || due === null)) return;
    const changes = { links, due_at: due, url: link === 0 ? null : url, user_agent: userAgent };
    if (known) {
      Object.assign(known, changes);
      return;
    }
    let message = this.#messages.get(messageId);
    if (!message) {
      message = { message_id: messageId, account_id: accountId, many: false, fetches: [] };
      this.#messages.set(messageId, message);
    }
    message.many ||= links > FEW_LINKS;
    const fetch = { nth: message.fetches.length + 1, link, second, ...changes };
    message.fetches.push(fetch);
    this.#fetches.set(key, fetch);
  }

  get hours(): string {
    return JSON.stringify([...this.#hours.values()]);
  }

  get fetches(): string {
    return JSON.stringify([...this.#messages.values()]);
  }
}

/**
 * SQL: stores hits, or only counts them if an hour of a message already has enough. Fetches of links of messages with
 * several links also go to `tracking_fetches`, because only together they show whether a scanner made them; and so do
 * fetches that may be a person's first open or click. Everything is looked up by key for each message, without a join
 * of two inputs. A message without a recipient belonged to a deleted contact: its hits store neither address nor
 * browser.
 */
const storeSql = `
  with hours as materialized (
    select h.*, (
      select count(*) from (
        select 1 from tracking_hits t
        where t.message_id = h.message_id and t.created_at >= h.hour and t.created_at < h.hour + interval '1 hour'
          and t.created_at between $3 and $4
        limit ${MAX_HITS_AN_HOUR}) as few) as kept,
      exists (
        select 1 from messages m
        where m.id = h.message_id and m.id between $5 and $6 and m.to_key is null offset 0) as erased
    from json_to_recordset($1) as h (
      message_id bigint, account_id bigint, hour timestamptz, count int, hits json)
  ), stored as (
    insert into tracking_hits (created_at, message_id, account_id, link, is_bot, reason, user_agent, ip)
    select i.at, h.message_id, h.account_id, i.link, i.is_bot, i.reason,
      case when not h.erased then i.user_agent end, case when not h.erased then i.ip end
    from hours h cross join lateral json_to_recordset(h.hits) as i (
      nth int, link smallint, at timestamptz, is_bot boolean, reason text, user_agent text, ip inet)
    where h.kept + i.nth <= ${MAX_HITS_AN_HOUR}
  ), overflow as (
    insert into tracking_overflow as o (message_id, hour, hits)
    select message_id, hour, kept + count - ${MAX_HITS_AN_HOUR} from hours
    where kept + count > ${MAX_HITS_AN_HOUR} order by message_id, hour
    on conflict (message_id, hour) do update set hits = o.hits + excluded.hits
  ), messages as materialized (
    select m.*, case when m.many then (
      select count(*) from (
        select 1 from tracking_fetches t where t.message_id = m.message_id limit ${MAX_FETCHES}) as few)
      else 0 end as known
    from json_to_recordset($2) as m (message_id bigint, account_id bigint, many boolean, fetches json)
  ), input as (
    select m.message_id, m.account_id, i.*, case when exists (
        select 1 from message_interactions x
        where x.message_id = m.message_id and x.message_id between $5 and $6 and x.link = i.link) then null
      else i.due_at end as due
    from messages m cross join lateral json_to_recordset(m.fetches) as i (
      nth int, link smallint, links smallint, second timestamptz, due_at timestamptz, url text, user_agent text)
    where m.known + i.nth <= ${MAX_FETCHES}
  )
  insert into tracking_fetches as f (message_id, link, fetched_at, account_id, links, due_at, url, user_agent)
  select message_id, link, second, account_id, links, due, url, user_agent
  from input where due is not null or (link > 0 and links > 1)
  order by message_id, link, second
  on conflict (message_id, link, fetched_at) do update
    set due_at = excluded.due_at, url = excluded.url, user_agent = excluded.user_agent
    where f.due_at is null and excluded.due_at is not null`;

/** Stores hits in one statement. */
export async function storeHits(client: Queryable, hits: readonly Hit[]): Promise<void> {
  if (hits.length === 0) return;
  const input = new HitInput();
  for (const hit of hits) input.add(hit);
  const times = hits.map(({ at }) => at.getTime());
  const ids = hits.map(({ target }) => target.messageId);
  await client.query({
    name: 'store_hits',
    text: storeSql,
    values: [
      input.hours,
      input.fetches,
      // The bounds, the hours of the hits and their messages, let PostgreSQL skip partitions.
      new Date(Math.min(...times) - HOUR_MS),
      new Date(Math.max(...times) + HOUR_MS),
      Math.min(...ids),
      Math.max(...ids),
    ],
  });
}
