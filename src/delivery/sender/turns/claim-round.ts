import type pg from 'pg';
import { type Backlog, BLOCKS_CLASS } from '../../terms/backlog.ts';
import type { ClaimBuffer } from './claim-buffer.ts';
import { claimBlock } from '../../ledger/blocks/claim-blocks.ts';
import type { LimitSettings } from '../../ledger/limits/authority.ts';
import { type Backlogs, createBacklogs, type DueBacklog } from './backlogs.ts';
import { claimBacklogs } from '../../ledger/claim/claim.ts';
import type { Claim } from '../../ledger/ownership/claims.ts';
import { createServiceOrder, type ServiceOrder } from './service-order.ts';

/** Minimum quantum. Smaller claims would cost more than their fairness is worth. */
const MIN_QUANTUM = 50;
/** Maximum number of backlogs that one transaction claims from. */
const MAX_GROUP = 16;

const isOfQueue = ({ class: priority }: Backlog) => priority !== BLOCKS_CLASS;

export interface ClaimRound {
  claimed: number;
  /** Milliseconds until the next message is due; 0 if messages were held and more may be; null if none is known. */
  nextDueMs: number | null;
}

/**
 * Claims from backlogs in order, until enough is claimed. Backlogs with few messages share transactions: if a group
 * yielded less than one quantum, the next group is larger.
 * @param wanted number of messages to claim
 * @param quantum maximum number of messages to claim from one backlog
 * @param claim claims of a group of backlogs in one transaction; returns the number of messages
 */
async function claimInGroups(
  due: readonly DueBacklog[],
  wanted: number,
  quantum: number,
  claim: (group: readonly DueBacklog[]) => Promise<number>,
): Promise<void> {
  let left = wanted;
  let groupSize = 1;
  for (let next = 0; next < due.length && left > 0;) {
    const size = Math.max(1, Math.min(groupSize, Math.floor(left / quantum)));
    const claimed = await claim(due.slice(next, next + size));
    left -= claimed;
    next += size;
    groupSize = claimed < quantum ? Math.min(MAX_GROUP, groupSize * 2) : Math.ceil(groupSize / 2);
  }
}

/**
 * Claims fairly: transactional messages before flows before campaigns; within a class, the backlog that was served
 * longest ago comes first, and each has an equal share of the round.
 * @param backlogs what the sender knows of waiting messages
 * @returns a function that makes one round. `wanted` is the number of messages to claim, by share of the queue (see
 *   `shareName`). `onClaims` receives the claims of each transaction as soon as it has committed. Backlogs for which
 *   `skips` is true are left out. If `isTested` is true for a share, the round claims from a single backlog, messages
 *   that have lost no connection first
 */
export function createClaimRound(
  pool: pg.Pool,
  settings: LimitSettings,
  backlogs: Backlogs = createBacklogs(pool),
  order: ServiceOrder = createServiceOrder(),
) {
  return async function claimRound(
    owner: number,
    wanted: ReadonlyMap<string, number>,
    onClaims: (share: string, claims: Claim[]) => void,
    skips: (backlog: Backlog) => boolean = () => false,
    isTested: (share: string) => boolean = () => false,
  ): Promise<ClaimRound> {
    await backlogs.refresh();
    let claimed = 0;
    let holding = false;
    for (const [share, count] of wanted) {
      const test = isTested(share);
      const known = [...backlogs.due(share)].filter((backlog) => isOfQueue(backlog) && !skips(backlog));
      const due = test ? order.forTest(known) : order.forRound(known);
      const equal = test ? count : Math.floor(count / Math.max(1, due.length));
      const quantum = Math.max(MIN_QUANTUM, equal);
      await claimInGroups(due, test ? 1 : count, quantum, async (group) => {
        const requests = group.map((backlog) => ({ ...backlog, owner, quantum }));
        const results = await claimBacklogs(pool, requests, settings);
        for (const [index, backlog] of group.entries()) {
          // A test does not count as the backlog's turn: if the provider works, it is served before one that failed a
          // test.
          if (!test) order.served(backlog.name);
          const { lookedAt = 0, claims = [] } = results[index] ?? {};
          if (lookedAt < quantum) backlogs.emptied(backlog);
          else holding ||= claims.length < lookedAt;
        }
        const claims = results.flatMap((result) => result.claims);
        if (test) claims.sort((one, other) => Number(one.losses > 0) - Number(other.losses > 0));
        claimed += claims.length;
        if (claims.length > 0) onClaims(share, claims);
        return claims.length;
      });
    }
    return { claimed, nextDueMs: holding ? 0 : backlogs.nextLookMs() };
  };
}

/** After how many fruitless claims a round over the blocks of a share ends: other messages wait for the round. */
const MAX_FRUITLESS_LOOKS = 8;
/** About how long a round claims blocks of a share. */
const MAX_BLOCKS_MS = 20;

/** The part of a share that claims blocks. */
export interface BlockTaker {
  name: string;
  buffer: Pick<ClaimBuffer, 'wantedOfBlock'>;
}

/**
 * Claims blocks of campaigns, for each share from the account that was served longest ago. A block of an account that
 * has none in the buffer is claimed even if the buffer has enough others. Rounds are short, because queue rows are
 * claimed in between.
 * @returns a function that makes one round. It returns the number of messages, and whether more may be due, because
 *   blocks were held or closed instead, or because the round ended before it reached all backlogs
 */
export function createBlockRound(
  pool: pg.Pool,
  settings: LimitSettings,
  backlogs: Backlogs,
  order: ServiceOrder,
) {
  return async function claimBlocks(
    owner: number,
    shares: readonly BlockTaker[],
    onClaims: (share: string, claims: Claim[]) => void,
  ): Promise<{ claimed: number; more: boolean }> {
    await backlogs.refresh();
    let claimed = 0;
    let more = false;
    for (const { name, buffer } of shares) {
      const due = order.forRound([...backlogs.due(name)].filter((backlog) => !isOfQueue(backlog)));
      const endsAt = performance.now() + MAX_BLOCKS_MS;
      let fruitless = 0;
      for (const backlog of due) {
        const messages = buffer.wantedOfBlock(backlog.accountId);
        if (messages === 0) continue;
        if (fruitless >= MAX_FRUITLESS_LOOKS || performance.now() >= endsAt) {
          more = true;
          break;
        }
        const { accountId, channel, providerId } = backlog;
        const request = { accountId, channel, providerId, owner, messages };
        const { lookedAt, claims } = await claimBlock(pool, request, settings);
        order.served(backlog.name);
        if (lookedAt === 0) backlogs.emptied(backlog);
        more ||= lookedAt > 0 && claims.length === 0;
        claimed += claims.length;
        if (claims.length > 0) onClaims(name, claims);
        else fruitless += 1;
      }
    }
    return { claimed, more };
  };
}
