import type pg from 'pg';
import { onClient, type Queryable } from '../../platform/db/queryable.ts';
import { ALLOWANCE_WINDOW, type TierAllowances } from '../limits/allowance.ts';
import type { Channel } from '../message.ts';

/** Waiting messages of one account and class: what fairness is between. */
export interface Backlog {
  channel: Channel;
  class: number;
  accountId: number;
  /** Milliseconds until the first of them is due, by the database's clock; not above 0 where one is. */
  waitMs: number;
}

export interface Claim {
  messageId: number;
  epoch: number;
}

/** First key of the advisory lock under which an account's allowance is counted. */
const ALLOWANCE_LOCK = 1_129_468_234;

/** Every backlog with unclaimed rows, found by jumping through the index from one to the next. */
export async function findBacklogs(client: Queryable): Promise<Backlog[]> {
  const { rows } = await client.query<Backlog>({
    name: 'find_backlogs',
    text: `
    with recursive backlog as (
      (select channel, class, account_id, due_at from send_queue where owner is null
       order by channel, class, account_id, due_at limit 1)
      union all
      select next.* from backlog b cross join lateral (
        select channel, class, account_id, due_at from send_queue
        where owner is null and (channel, class, account_id) > (b.channel, b.class, b.account_id)
        order by channel, class, account_id, due_at limit 1) next
    )
    select channel, class, account_id as "accountId",
      (extract(epoch from due_at - now()) * 1000)::float8 as "waitMs"
    from backlog`,
  });
  return rows;
}

function int(value: number): string {
  if (!Number.isSafeInteger(value)) throw new TypeError(`not an integer: ${value}`);
  return String(value);
}

/** Of the allowance, when what is claimed now counts. */
const PRESENT_BUCKET = `date_bin('10 minutes', now(), timestamptz '2000-01-01 00:00Z')`;

/** Whether the account is paused, how many it may send now, and when it may send more. */
const limitsSql = `
  select paused, remaining,
    -- Where nothing counts yet, what is claimed now is the first to return; where nothing ever may, look again.
    coalesce(first_bucket + ${ALLOWANCE_WINDOW},
      now() + case when remaining > 0 then ${ALLOWANCE_WINDOW} else interval '10 minutes' end) as capacity_at
  from (
    select a.sending_paused_at is not null as paused,
      case when a.kind = 'system' then 2147483647 else
        coalesce(a.allowance_per_day, case a.tier when 'free' then $6 when 'paid' then $7 else $8 end)
        - coalesce(
            (select sum(b.used) from allowance_buckets b
             where b.account_id = a.id and b.bucket > now() - ${ALLOWANCE_WINDOW}), 0)
      end as remaining,
      (select min(b.bucket) from allowance_buckets b
       where b.account_id = a.id and b.used > 0 and b.bucket > now() - ${ALLOWANCE_WINDOW}) as first_bucket
    from accounts a where a.id = $3) a`;

/**
 * The rows due of one backlog, oldest first: as many as the rolling allowance lets go are claimed and counted
 * against it (once a message, whatever happens to the claim); the others are held, as all are while the account
 * is paused. A message past its 72 hours is claimed without being counted, for the checks to end it.
 *
 * Rows are written by their keys, never joined: while the table's statistics say that it is empty, a join walks all of
 * it for each row.
 */
const claimSql = `
  prepare claim_backlog (text, int, bigint, bigint, int, int, int, int) as
  with alive as materialized (
    select id from processes where id = $4 for key share
  ), limits as materialized (
    -- Once: joined as it stands it would be computed for each row.
    ${limitsSql}
  ), picked as (
    select message_id, reserved_bucket, queued_at from send_queue
    where owner is null and channel = $1 and class = $2
      and account_id = $3 and due_at <= now()
      -- Fenced: who was taken for dead claims nothing, and the reaper waits for a claim on its way.
      and (select id from alive) is not null
    order by due_at, message_id limit $5
    for update skip locked
  ), placed as (
    select p.*, case when p.counts
        then row_number() over (partition by p.counts order by p.message_id) else 0 end as place
    from (
      select *, queued_at < now() - interval '72 hours' as expired,
        reserved_bucket is null and queued_at >= now() - interval '72 hours' as counts
      from picked) p
  ), decided as (
    select p.*, case
        when p.expired then 'claim'
        when l.paused then 'account_paused'
        when p.place > l.remaining then 'allowance'
        else 'claim' end as decision
    from placed p cross join limits l
  ), claimed as (
    update send_queue q set owner = $4, claim_epoch = q.claim_epoch + 1,
      reserved_bucket = case when q.queued_at < now() - interval '72 hours' then q.reserved_bucket
        else coalesce(q.reserved_bucket, ${PRESENT_BUCKET}) end
    where q.message_id = any(array(select message_id from decided where decision = 'claim'))
    returning q.message_id, q.claim_epoch
  ), counted as (
    insert into allowance_buckets (account_id, bucket, used)
    select $3, ${PRESENT_BUCKET}, count(*) from decided where decision = 'claim' and counts having count(*) > 0
    on conflict (account_id, bucket) do update set used = allowance_buckets.used + excluded.used
  ), free as (
    -- Never waited for, with queue rows locked: who has a message may be recording what became of it, and wants its
    -- queue row next. The next claim looks at it again.
    select id from messages where id = any(array(select message_id from decided where decision <> 'claim'))
    order by id for no key update skip locked
  ), busy as (
    update send_queue q set due_at = now() + interval '5 seconds'
    where q.message_id = any(array(
      select message_id from decided where decision <> 'claim' except select id from free))
  ), held as (
    update send_queue q set due_at = least(
        (select case when paused then now() + interval '5 minutes' else capacity_at end from limits),
        q.queued_at + interval '72 hours 1 second')
    where q.message_id = any(array(select id from free))
    returning q.message_id, q.due_at
  ), marked as (
    update messages m set status = 'held', updated_at = now(), hold = case when l.paused
        then '{"reason": "account_paused", "until": null}'::jsonb
        else jsonb_build_object('reason', 'allowance', 'until', h.due_at) end
    from held h cross join limits l
    where m.id = h.message_id and m.id = any(array(select id from free))
      and m.status in ('queued', 'held', 'unknown')
  )
  select message_id, claim_epoch from claimed order by message_id`;

const prepared = new WeakSet<pg.PoolClient>();

/** Planning the claim takes longer than a small one itself, so that each connection does it once. */
async function prepareClaim(client: pg.PoolClient): Promise<void> {
  if (prepared.has(client)) return;
  await client.query(claimSql);
  prepared.add(client);
}

/**
 * Claim up to `quantum` messages of one backlog for a process. A claim promises nothing and can be taken back; the
 * database may even forget it in a crash, for nobody waits until it is on disk. What an intent covers is: the
 * intent's commit takes all before it to the disk.
 * @returns what was claimed; whatever had to wait is `held` in the same transaction, or seconds later where another was
 *   just changing that message
 */
export function claimBacklog(
  pool: pg.Pool,
  { channel, class: priority, accountId }: Backlog,
  owner: number,
  quantum: number,
  tiers: TierAllowances,
): Promise<Claim[]> {
  return onClient(pool, async (client) => {
    await prepareClaim(client);
    const numbers = [priority, accountId, owner, quantum, tiers.free, tiers.paid, tiers.trusted].map(int);
    // Statements in one message are one transaction: the last reads the allowance under the lock of the one before.
    const results = (await client.query(
      `set local synchronous_commit = off;
       select pg_advisory_xact_lock(${ALLOWANCE_LOCK}, ${int(accountId % 2_147_483_647)});
       execute claim_backlog('${channel}', ${numbers.join(', ')})`,
    )) as unknown as { rows: { message_id: number; claim_epoch: number }[] }[];
    return (results[2]?.rows ?? []).map((row) => ({ messageId: row.message_id, epoch: row.claim_epoch }));
  });
}

/** Give claims back unchanged; those meanwhile taken again, by whomever, are left alone. */
export async function releaseClaims(
  client: Queryable,
  owner: number,
  claims: readonly Claim[],
): Promise<void> {
  if (claims.length === 0) return;
  // In the order in which everybody locks them.
  const sorted = claims.toSorted((one, other) => one.messageId - other.messageId);
  await client.query(
    `with mine as (
       select s.message_id from unnest($2::bigint[], $3::int[]) as c (message_id, epoch)
       cross join lateral (
         select message_id from send_queue q
         -- "is not distinct": no index of owners, where all of ours would be read for each
         where q.message_id = c.message_id and q.claim_epoch = c.epoch and q.owner is not distinct from $1
         for update) s
     )
     update send_queue q set owner = null where q.message_id = any(array(select message_id from mine))`,
    [owner, sorted.map((claim) => claim.messageId), sorted.map((claim) => claim.epoch)],
  );
}

const LEAST_QUANTUM = 50;

export interface ClaimRound {
  claimed: number;
  /** Milliseconds until the next row known of is due; null where none waits. */
  nextDueMs: number | null;
}

/** Claims still to be made for a channel in a round, and of one backlog. */
interface Share {
  left: number;
  quantum: number;
}

function sharesOf(due: readonly Backlog[], wanted: ReadonlyMap<string, number>): Map<string, Share> {
  return new Map(
    [...wanted].map(([channel, left]) => {
      const backlogs = due.filter((backlog) => backlog.channel === channel).length;
      return [channel, { left, quantum: Math.max(LEAST_QUANTUM, Math.floor(left / Math.max(1, backlogs))) }];
    }),
  );
}

/**
 * Claims fairly: transactional before flows before campaigns; within a class whoever was served longest ago
 * comes first, each with an equal share of the round. `onClaims` gets each backlog's claims as soon as they are made.
 * `wanted` is how many to claim, by channel.
 */
export function createClaimer(pool: pg.Pool, tiers: TierAllowances) {
  const lastServed = new Map<string, number>();
  let turn = 0;
  const nameOf = (backlog: Backlog) => `${backlog.channel}/${backlog.class}/${backlog.accountId}`;
  const servedAt = (backlog: Backlog) => lastServed.get(nameOf(backlog)) ?? 0;

  return async function claimRound(
    owner: number,
    wanted: ReadonlyMap<string, number>,
    onClaims: (channel: Backlog['channel'], claims: Claim[]) => void,
  ): Promise<ClaimRound> {
    const backlogs = (await findBacklogs(pool)).filter((backlog) => wanted.has(backlog.channel));
    const due = backlogs
      .filter((backlog) => backlog.waitMs <= 0)
      .sort((a, b) => a.class - b.class || servedAt(a) - servedAt(b));
    const shares = sharesOf(due, wanted);
    const round: ClaimRound = { claimed: 0, nextDueMs: null };
    for (const backlog of due) {
      const share = shares.get(backlog.channel);
      if (!share || share.left <= 0) continue;
      const claims = await claimBacklog(pool, backlog, owner, share.quantum, tiers);
      share.left -= claims.length;
      lastServed.set(nameOf(backlog), ++turn);
      round.claimed += claims.length;
      if (claims.length > 0) onClaims(backlog.channel, claims);
    }
    if (lastServed.size > 10_000) lastServed.clear();
    const waits = backlogs.filter((backlog) => backlog.waitMs > 0).map((backlog) => backlog.waitMs);
    round.nextDueMs = waits.length > 0 ? Math.min(...waits) : null;
    return round;
  };
}
