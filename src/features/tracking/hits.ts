import type pg from 'pg';
import type { Logger } from 'pino';
import { createCoalescer } from '../../platform/db/coalescer.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { judgeFetch } from './bots.ts';
import { BURST_SECONDS } from './bursts.ts';
import type { TrackedTarget } from './tokens.ts';

/** A fetch of a tracked link or pixel. */
export interface Hit {
  target: TrackedTarget;
  at: Date;
  method: string;
  userAgent: string;
  /** Of the headers `Sec-Purpose` and `Purpose`. */
  purpose: string;
  ip: string | null;
}

/** Hits of one message and hour beyond these are only counted. */
export const MAX_HITS_AN_HOUR = 100;
const MAX_USER_AGENT = 500;
/** A click is decided when all fetches that may belong to it are committed. */
const DECIDED_AFTER_MS = (BURST_SECONDS + 2) * 1_000;

const MAX_GROUP = 500;
const GROUPS_AT_ONCE = 2;
/** Under a steady load, hits gather for this long. */
const GROUP_INTERVAL_MS = 3;
/** Hits that wait to be stored. Beyond these, the database is too slow to keep them. */
const MAX_WAITING = 20_000;
/** A person waits for a redirect at most this much longer. */
const MAX_WAIT_MS = 1_000;

/** When it is decided whether a person fetched it; null: nothing is to be decided. */
function dueAt({ target, at }: Hit, mayBeHuman: boolean, isCertain: boolean): Date | null {
  if (!mayBeHuman) return null;
  return isCertain || target.links < 2 ? at : new Date(at.getTime() + DECIDED_AFTER_MS);
}

function rowOf(hit: Hit) {
  const { target, at, method, purpose, ip } = hit;
  const userAgent = hit.userAgent.slice(0, MAX_USER_AGENT);
  const verdict = judgeFetch({ method, userAgent, purpose, pixel: target.link === 0 });
  return {
    message_id: target.messageId,
    account_id: target.accountId,
    link: target.link,
    // With a single link, no burst can show that it was a machine.
    links: verdict.mayBeHuman && verdict.isCertain ? 1 : target.links,
    at: at.toISOString(),
    is_bot: verdict.isBot,
    reason: verdict.reason,
    user_agent: userAgent === '' ? null : userAgent,
    ip,
    due_at: dueAt(hit, verdict.mayBeHuman, verdict.isCertain)?.toISOString() ?? null,
    url: target.link === 0 ? null : target.url,
  };
}

/**
 * SQL: stores hits, or counts them where an hour of a message has enough of them. Links of messages with several links
 * also go to `tracking_fetches`, because only together they show whether a scanner fetched them; and so does what may be
 * the first open or click of a person.
 */
const storeSql = `
  with input as materialized (
    select i.*, date_trunc('hour', i.at, 'UTC') as hour, date_trunc('second', i.at, 'UTC') as second,
      row_number() over (partition by i.message_id, date_trunc('hour', i.at, 'UTC')) as nth,
      case when exists (
        select 1 from message_interactions x
        where x.message_id = i.message_id and x.message_id between $4 and $5 and x.link = i.link) then null
        else i.due_at end as due
    from json_to_recordset($1) as i (
      message_id bigint, account_id bigint, link smallint, links smallint, at timestamptz, is_bot boolean, reason text,
      user_agent text, ip inet, due_at timestamptz, url text)
  ), kept as materialized (
    select h.message_id, h.hour, (
      select count(*) from (
        select 1 from tracking_hits t
        where t.message_id = h.message_id and t.created_at >= h.hour and t.created_at < h.hour + interval '1 hour'
          and t.created_at between $2 and $3
        limit ${MAX_HITS_AN_HOUR}) as few) as hits
    from (select distinct message_id, hour from input) h
  ), stored as (
    insert into tracking_hits (created_at, message_id, account_id, link, is_bot, reason, user_agent, ip)
    select at, message_id, account_id, link, is_bot, reason, user_agent, ip
    from input join kept using (message_id, hour) where hits + nth <= ${MAX_HITS_AN_HOUR}
  ), overflow as (
    insert into tracking_overflow as o (message_id, hour, hits)
    select message_id, hour, count(*) from input join kept using (message_id, hour)
    where kept.hits + nth > ${MAX_HITS_AN_HOUR} group by message_id, hour order by message_id, hour
    on conflict (message_id, hour) do update set hits = o.hits + excluded.hits
  )
  insert into tracking_fetches as f (message_id, link, fetched_at, account_id, links, due_at, url, user_agent)
  select distinct on (message_id, link, second) message_id, link, second, account_id, links, due, url, user_agent
  from input where due is not null or (link > 0 and links > 1)
  order by message_id, link, second, due nulls last
  on conflict (message_id, link, fetched_at) do update
    set due_at = excluded.due_at, url = excluded.url, user_agent = excluded.user_agent
    where f.due_at is null and excluded.due_at is not null`;

/** Stores hits in one statement. */
export async function storeHits(client: Queryable, hits: readonly Hit[]): Promise<void> {
  if (hits.length === 0) return;
  const times = hits.map(({ at }) => at.getTime());
  const ids = hits.map(({ target }) => target.messageId);
  await client.query({
    name: 'store_hits',
    text: storeSql,
    values: [
      JSON.stringify(hits.map(rowOf)),
      // The bounds let PostgreSQL leave out partitions: the hours of the hits, and their messages.
      new Date(Math.min(...times) - 3_600_000),
      new Date(Math.max(...times) + 3_600_000),
      Math.min(...ids),
      Math.max(...ids),
    ],
  });
}

export interface HitRecorderDeps {
  pool: pg.Pool;
  log: Logger;
  /** Counts hits that were answered and could not be stored. */
  onLost: (hits: number) => void;
}

/**
 * Stores hits in groups.
 * @returns a function that stores a hit. It resolves when the hit is committed; and in any case after a second, so that
 *   a link works while the database does not. It never rejects.
 */
export function createHitRecorder({ pool, log, onLost }: HitRecorderDeps): (hit: Hit) => Promise<void> {
  let waiting = 0;
  let warnedAt = -Infinity;
  const coalescer = createCoalescer<Hit, null>({
    maxGroupSize: MAX_GROUP,
    concurrency: GROUPS_AT_ONCE,
    intervalMs: GROUP_INTERVAL_MS,
    async run(group) {
      await storeHits(pool, group);
      return group.map(() => null);
    },
  });

  function lost(error: unknown): void {
    onLost(1);
    if (performance.now() - warnedAt < MAX_WAIT_MS) return;
    warnedAt = performance.now();
    log.warn({ err: error }, 'hits of tracked mail lost');
  }

  return async (hit) => {
    if (waiting >= MAX_WAITING) return lost(new Error('the database is too slow'));
    waiting += 1;
    const stored = coalescer
      .submit(hit)
      .then(() => undefined, lost)
      .finally(() => (waiting -= 1));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, MAX_WAIT_MS)));
    await Promise.race([stored, late]);
    clearTimeout(timer);
  };
}
