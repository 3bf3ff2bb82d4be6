import type { Config } from '../../config.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { ALLOWANCE_WINDOW, type TierAllowances } from './allowance.ts';

/** Figures of accounts that have none of their own. */
export interface CapacitySettings {
  tiers: TierAllowances;
  sandboxMonthlyCap: number;
}

/** What an account may still send, as the accepting transaction and the claims count it. */
export interface Capacity {
  tier: 'free' | 'paid' | 'trusted';
  pausedAt: Date | null;
  pausedReason: string | null;
  allowance: { limit: number; used: number; remaining: number; resetsAt: Date | null };
  sandbox: { cap: number; used: number; remaining: number; resetsAt: Date };
  spendCapMonthlyCents: number | null;
  walletBalanceCents: number;
}

export function capacitySettings(config: Config): CapacitySettings {
  return {
    tiers: { free: config.ALLOWANCE_FREE, paid: config.ALLOWANCE_PAID, trusted: config.ALLOWANCE_TRUSTED },
    sandboxMonthlyCap: config.SANDBOX_MONTHLY_CAP,
  };
}

interface Row {
  tier: Capacity['tier'];
  paused_at: Date | null;
  paused_reason: string | null;
  allowance_per_day: number | null;
  allowance_used: number;
  allowance_resets_at: Date | null;
  sandbox_monthly_cap: number | null;
  sandbox_used: number;
  month_ends_at: Date;
  spend_cap_monthly_cents: number | null;
  wallet_balance_cents: number;
}

/**
 * Read an account's capacity. A projection only: nothing is reserved by it.
 * `allowance.resetsAt` is when the oldest send of the last 24 hours stops counting.
 */
export async function readCapacity(
  client: Queryable,
  accountId: number,
  settings: CapacitySettings,
): Promise<Capacity> {
  const { rows } = await client.query<Row>(
    `select a.tier, a.sending_paused_at as paused_at, a.sending_paused_reason as paused_reason,
       a.allowance_per_day, coalesce(b.used, 0)::int as allowance_used, b.resets_at as allowance_resets_at,
       a.sandbox_monthly_cap, coalesce(s.used, 0) as sandbox_used,
       (date_trunc('month', now() at time zone 'utc') + interval '1 month') at time zone 'utc' as month_ends_at,
       a.spend_cap_monthly_cents, a.wallet_balance_cents
     from accounts a
     left join lateral (
       select sum(used) as used, min(bucket) filter (where used > 0) + ${ALLOWANCE_WINDOW} as resets_at
       from allowance_buckets where account_id = a.id and bucket > now() - ${ALLOWANCE_WINDOW}) b on true
     left join sandbox_usage s
       on s.account_id = a.id and s.month = date_trunc('month', now() at time zone 'utc')::date
     where a.id = $1`,
    [accountId],
  );
  const row = rows[0];
  if (!row) throw new Error(`no account ${accountId}`);
  const limit = row.allowance_per_day ?? settings.tiers[row.tier];
  const cap = row.sandbox_monthly_cap ?? settings.sandboxMonthlyCap;
  return {
    tier: row.tier,
    pausedAt: row.paused_at,
    pausedReason: row.paused_reason,
    allowance: {
      limit,
      used: row.allowance_used,
      remaining: Math.max(0, limit - row.allowance_used),
      resetsAt: row.allowance_resets_at,
    },
    sandbox: {
      cap,
      used: row.sandbox_used,
      remaining: Math.max(0, cap - row.sandbox_used),
      resetsAt: row.month_ends_at,
    },
    spendCapMonthlyCents: row.spend_cap_monthly_cents,
    walletBalanceCents: row.wallet_balance_cents,
  };
}

/**
 * Let an account's held messages be looked at again at once: whoever resumed the account or raised what it may send
 * calls this in the same transaction. What still may not go is held again.
 */
export async function releaseHeld(client: Queryable, accountId: number): Promise<void> {
  await client.query(
    `with waiting as (
       select message_id from send_queue
       where account_id = $1 and owner is null and due_at > now() order by message_id for update
     ), released as (
       update messages m set status = 'queued', hold = null, updated_at = now()
       from waiting w where m.id = w.message_id and m.status = 'held' returning m.id
     )
     update send_queue set due_at = now() where message_id = any(array(select id from released))`,
    [accountId],
  );
}
