/** The limits as they apply to blocks of campaigns. Two of them differ from the limits for messages in the queue. */
import { type HoldReason, holdReasons, limits, type Limits, PROVIDER_CANNOT_TAKE } from './authority.ts';
import { domainUnverified } from './domain-unverified.ts';
import type { Limit } from './limit.ts';
import type { Cte } from '../../terms/sql-parts.ts';
import { SANDBOX_MONTH, sandboxCap } from './sandbox-cap.ts';

/**
 * Messages in the queue were counted when they were accepted. Those of a block are counted when it is first claimed in
 * a month. If such a block is held, its campaign is stopped.
 */
export const sandboxOfBlocks = {
  ...sandboxCap,
  plain: 'stands down',
  queueColumns: ['channel', 'domain_id', 'sandbox_month'],
  quota: {
    counts: `q.channel = 'email' and q.domain_id is null and q.sandbox_month is distinct from ${SANDBOX_MONTH}`,
  },
  claim: { effect: 'hold', until: 'sandbox_cap.resets_at' },
} as const satisfies Limit;

/**
 * If the domain was deleted, the recipients of a block wait as for an unverified domain, until the campaign is paused.
 * No recipient is left out.
 */
const domainOfBlocks = {
  ...domainUnverified,
  condition: {
    reads: 'queue',
    sql: `(q.domain_id is not null
      and (select d.status from domains d where d.id = q.domain_id) is distinct from 'verified')`,
  },
} as const satisfies Limit;

/** The table of limits for claims and intents of blocks. */
export const blockLimits: Limits = (limits as Limits).flatMap((limit): Limits => {
  switch (limit.name) {
    case 'domain_deleted':
      return [];
    case domainOfBlocks.name:
      return [domainOfBlocks];
    case sandboxOfBlocks.name:
      return [sandboxOfBlocks];
    default:
      return [limit];
  }
});

/** Why a block is held. It has no letters. */
export type BlockHoldReason = Exclude<HoldReason, typeof PROVIDER_CANNOT_TAKE> | typeof sandboxOfBlocks.name;

export const blockHoldReasons: readonly BlockHoldReason[] = [
  ...holdReasons.filter((reason) => reason !== PROVIDER_CANNOT_TAKE),
  sandboxOfBlocks.name,
];

/**
 * Returns what the blocks in `closed` have reserved for messages without an attempt.
 * @param after SQL: a condition that is always true, but cannot be evaluated before all other rows are locked
 */
export const returnSandboxCtes = (after: string): Cte[] => [
  {
    name: 'sandbox_unused',
    materialized: true,
    sql: `
    select account_id, sandbox_month as month, sum(sandbox_reserved)::int as count from closed
    where sandbox_reserved > 0 group by 1, 2`,
  },
  {
    // As with the allowance, a claim may have begun the month while the statement waited for the block.
    name: 'sandbox_given_back',
    sql: `
    insert into sandbox_usage as u (account_id, month, used)
    select account_id, month, 0 from sandbox_unused where ${after} order by account_id, month
    on conflict (account_id, month) do update set used = greatest(0, u.used - (
      select n.count from sandbox_unused n where n.account_id = u.account_id and n.month = u.month))`,
  },
];
