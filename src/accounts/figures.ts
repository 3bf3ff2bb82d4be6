import type { Queryable } from '../db/queryable.ts';

/** An account's row, and what it has used, all at one moment. */
export interface AccountFigures {
  id: number;
  name: string | null;
  avatar: string | null;
  banner: string | null;
  comped: boolean;
  tier: 'free' | 'paid' | 'trusted';
  sending_paused_at: Date | null;
  sandbox_monthly_cap: number | null;
  allowance_per_day: number | null;
  spend_cap_monthly_cents: number | null;
  wallet_balance_cents: number;
  auto_topup: boolean;
  email_from_name: string | null;
  email_from_email: string | null;
  email_reply_to: string | null;
  test_email_recipients: string[];
  onboarding_state: Record<string, unknown>;
  capabilities: Record<string, unknown>;
  created_at: Date;
  updated_at: Date;
  /** Sends from the sandbox in this calendar month, UTC. */
  sandbox_used: number;
  /** Sends reserved in the rolling 24 hours. */
  allowance_used: number;
  email_sent: number;
  sms_sent: number;
  ai_used: number;
  /** Of any brand of the account, test messages aside. */
  first_message_at: Date | null;
}

const FIND = `
select a.id, a.name, a.avatar, a.banner, a.comped, a.tier, a.sending_paused_at, a.sandbox_monthly_cap,
  a.allowance_per_day, a.spend_cap_monthly_cents, a.wallet_balance_cents, a.auto_topup, a.email_from_name,
  a.email_from_email, a.email_reply_to, a.test_email_recipients, a.onboarding_state, a.capabilities,
  a.created_at, a.updated_at,
  coalesce(s.used, 0) as sandbox_used,
  (select coalesce(sum(b.used), 0)::bigint from allowance_buckets b
   where b.account_id = a.id and b.bucket > now() - interval '24 hours 10 minutes') as allowance_used,
  coalesce(c.email_sent, 0) as email_sent, coalesce(c.sms_sent, 0) as sms_sent, coalesce(c.ai_used, 0) as ai_used,
  (select min(first.created_at) from brands br cross join lateral (
     select m.created_at from messages m where m.brand_id = br.id and not m.test order by m.id limit 1) first
   where br.account_id = a.id) as first_message_at
from accounts a
left join account_counters c on c.account_id = a.id
left join sandbox_usage s on s.account_id = a.id and s.month = date_trunc('month', now() at time zone 'utc')::date
where a.id = $1`;

/** @returns null where there is no such account */
export async function findAccountFigures(db: Queryable, accountId: number): Promise<AccountFigures | null> {
  const { rows } = await db.query<AccountFigures>(FIND, [accountId]);
  return rows[0] ?? null;
}
