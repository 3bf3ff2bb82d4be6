/** What a claimed block reserves from the sandbox's cap. */
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { LimitSettings } from '../limits/authority.ts';
import { settingIn } from '../../terms/sql-parts.ts';
import { SANDBOX_MONTH, sandboxCap } from '../limits/sandbox-cap.ts';

/** What a block reserved in an earlier month. */
export interface SandboxReservation {
  month: string | null;
  count: number;
}

const RETURN = `
  update sandbox_usage set used = greatest(0, used - $3) where account_id = $1 and month = $2::date`;

const TAKE = `
  with account as materialized (
    select * from accounts where id = $1
  ), sandbox_cap as materialized (
    select f.* from account a cross join lateral (${sandboxCap.figures(settingIn('$3::jsonb'))}) f
  )
  insert into sandbox_usage as u (account_id, month, used)
  select id, ${SANDBOX_MONTH}, $2::int from account
  on conflict (account_id, month) do update set used = u.used + excluded.used
    where u.used + excluded.used <= (select "limit" from sandbox_cap)
  returning used`;

/**
 * Reserves messages in the current month of the cap, if they still fit: POST /messages counts there without the lock
 * that claims take. Returns what the block reserved in an earlier month. A transaction locks these rows last, in the
 * order of their months.
 * @returns whether they fit
 */
export async function takeSandbox(
  trx: Queryable,
  { accountId, count, before }: { accountId: number; count: number; before: SandboxReservation },
  settings: LimitSettings,
): Promise<boolean> {
  if (before.month !== null && before.count > 0) {
    const values = [accountId, before.month, before.count];
    await trx.query({ name: 'return_sandbox_of_block', text: RETURN, values });
  }
  const { rows } = await trx.query({
    name: 'take_sandbox_for_block',
    text: TAKE,
    values: [accountId, count, JSON.stringify(settings)],
  });
  return rows.length > 0;
}
