/** The usage of accounts, as counted and as computed from their messages. */
import type { Queryable } from '../../src/platform/db/queryable.ts';

export interface MonthUsage {
  /** `YYYY-MM-DD`. */
  month: string;
  email: number;
  sms: number;
}

/** The counted usage of an account by month, folded or not. Months without any use are left out. */
export async function countedUsage(db: Queryable, accountId: number): Promise<MonthUsage[]> {
  const { rows } = await db.query<MonthUsage>(
    `select month::text, sum(email_used)::int as email, sum(sms_used)::int as sms from (
       select month, email_used, sms_used from account_usage where account_id = $1
       union all select month, email_used, sms_used from usage_changes where account_id = $1) u
     group by month having sum(email_used) <> 0 or sum(sms_used) <> 0 order by month`,
    [accountId],
  );
  return rows;
}

/** Counts the charged messages of an account by month. An SMS counts once per segment. */
export async function recountedUsage(db: Queryable, accountId: number): Promise<MonthUsage[]> {
  const { rows } = await db.query<MonthUsage>(
    `select date_trunc('month', coalesce(unknown_at, sent_at) at time zone 'utc')::date::text as month,
       count(*) filter (where channel = 'email')::int as email,
       coalesce(sum(coalesce(segments, 1)) filter (where channel = 'sms'), 0)::int as sms
     from messages where account_id = $1 and not test and unsent_at is null
       and (sent_at is not null or unknown_at is not null) group by 1 order by 1`,
    [accountId],
  );
  return rows;
}

/** The total number of emails that an account has sent, as counted. */
export async function emailsSent(db: Queryable, accountId: number): Promise<number> {
  const { rows } = await db.query<{ sent: number }>(
    `select (coalesce((select email_sent from account_counters where account_id = $1), 0)
       + coalesce((select sum(email_sent) from usage_changes where account_id = $1), 0))::int as sent`,
    [accountId],
  );
  return rows[0]?.sent ?? 0;
}
