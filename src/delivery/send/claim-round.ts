import type pg from 'pg';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { LimitSettings } from '../limits/authority.ts';
import type { Channel } from '../message.ts';
import { type Claim, claimBacklog } from './claim.ts';

/** Smaller claims cost more than they make a round fairer. */
const MIN_QUANTUM = 50;
/** The order of service is forgotten if it covers more backlogs than this. */
const MAX_REMEMBERED = 10_000;

/** Waiting messages of one account, channel and class. The sender is fair between backlogs. */
export interface Backlog {
  channel: Channel;
  class: number;
  accountId: number;
  /** Milliseconds until its first message is due, by the clock of the database; 0 or less if it is due. */
  waitMs: number;
}

export interface ClaimRound {
  claimed: number;
  /** Milliseconds until the next message is due; null if none is known. */
  nextDueMs: number | null;
}

/** Finds every backlog with unclaimed messages, by jumping through the index from one to the next. */
async function findBacklogs(client: Queryable): Promise<Backlog[]> {
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

/** Messages that a round may still claim for a channel, and the most it claims of one backlog. */
interface Share {
  left: number;
  quantum: number;
}

function sharesOf(due: readonly Backlog[], wanted: ReadonlyMap<string, number>): Map<string, Share> {
  return new Map(
    [...wanted].map(([channel, left]) => {
      const backlogs = due.filter((backlog) => backlog.channel === channel).length;
      return [channel, { left, quantum: Math.max(MIN_QUANTUM, Math.floor(left / Math.max(1, backlogs))) }];
    }),
  );
}

/**
 * Claims fairly: transactional messages before flows before campaigns; within a class, the backlog that was served
 * longest ago comes first, and each has an equal share of the round.
 * @returns a function that makes one round. `wanted` is the number of messages to claim, by channel; `onClaims`
 *   receives the claims of each backlog as soon as they are made; backlogs that `skips` names are left out
 */
export function createClaimRound(pool: pg.Pool, settings: LimitSettings) {
  const lastServed = new Map<string, number>();
  let served = 0;
  const nameOf = (backlog: Backlog) => `${backlog.channel}/${backlog.class}/${backlog.accountId}`;
  const servedAt = (backlog: Backlog) => lastServed.get(nameOf(backlog)) ?? 0;

  return async function claimRound(
    owner: number,
    wanted: ReadonlyMap<string, number>,
    onClaims: (channel: Channel, claims: Claim[]) => void,
    skips: (backlog: Backlog) => boolean = () => false,
  ): Promise<ClaimRound> {
    const backlogs = (await findBacklogs(pool)).filter((backlog) => wanted.has(backlog.channel));
    const due = backlogs
      .filter((backlog) => backlog.waitMs <= 0 && !skips(backlog))
      .sort((a, b) => a.class - b.class || servedAt(a) - servedAt(b));
    const shares = sharesOf(due, wanted);
    let claimed = 0;
    for (const backlog of due) {
      const share = shares.get(backlog.channel);
      if (!share || share.left <= 0) continue;
      const claims = await claimBacklog(pool, { ...backlog, owner, quantum: share.quantum }, settings);
      share.left -= claims.length;
      lastServed.set(nameOf(backlog), ++served);
      claimed += claims.length;
      if (claims.length > 0) onClaims(backlog.channel, claims);
    }
    if (lastServed.size > MAX_REMEMBERED) lastServed.clear();
    const waits = backlogs.filter((backlog) => backlog.waitMs > 0).map((backlog) => backlog.waitMs);
    return { claimed, nextDueMs: waits.length > 0 ? Math.min(...waits) : null };
  };
}
