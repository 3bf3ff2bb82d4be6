import type pg from 'pg';
import type { TierAllowances } from './allowance.ts';
import { type Backlog, type Claim, claimBacklog, findBacklogs } from './claim.ts';

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
