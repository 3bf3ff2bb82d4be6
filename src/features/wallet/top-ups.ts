import type pg from 'pg';
import { balanceSql, MILLICENTS_PER_CENT } from '../../delivery/ledger/money/wallet.ts';
import { inTransaction } from '../../platform/db/queryable.ts';
import { appendToOutbox } from '../../platform/outbox/append.ts';
import { topUpStart } from './workflow.ts';

/** SQL: intervals. After a failure, the next top-up waits this long. */
const FAILURE_PAUSE = `interval '1 hour'`;
/** How soon the workflow of a new top-up must have reported. */
const GRACE = `interval '1 minute'`;
/** Maximum number of top-ups of an account in 24 hours. It limits what a wrong setting can cost a customer. */
const MAX_TOPUPS_PER_DAY = 10;
const MAX_AT_ONCE = 100;
/** Advisory lock: one worker at a time checks. */
const TOPUP_LOCK = 1_129_468_237;

const DUE = `
  with due as (
    select a.id, s.amount_cents, s.customer, s.payment_method
    from accounts a join topup_settings s on s.account_id = a.id
    where a.auto_topup and a.kind = 'customer' and not a.comped
      and ${balanceSql('a')} < s.below_cents::bigint * ${MILLICENTS_PER_CENT}
      and not exists (select from topups t where t.account_id = a.id
        and (t.status = 'pending' or (t.status = 'failed' and t.finished_at > now() - ${FAILURE_PAUSE})))
      and (select count(*) from topups t where t.account_id = a.id and t.created_at > now() - interval '24 hours')
        < ${MAX_TOPUPS_PER_DAY}
    order by a.id limit ${MAX_AT_ONCE}
  )
  insert into topups (account_id, amount_cents, currency, customer, payment_method, engine_expected_by)
  select id, amount_cents, $1, customer, payment_method, now() + ${GRACE} from due
  on conflict (account_id) where status = 'pending' do nothing
  returning id, account_id as "accountId"`;

/**
 * Starts a top-up for each account whose balance is below the limit in its settings and that has no pending top-up.
 * @param currency ISO 4217; a payment in another currency is not credited
 * @returns the number of top-ups started; if there are any, wake `outbox`
 */
export function startDueTopUps(pool: pg.Pool, currency: string): Promise<number> {
  return inTransaction(pool, async (trx) => {
    const { rows: locks } = await trx.query<{ locked: boolean }>(
      `select pg_try_advisory_xact_lock(${TOPUP_LOCK}) as locked`,
    );
    if (!locks[0]?.locked) return 0;
    const { rows } = await trx.query<{ id: number; accountId: number }>(DUE, [currency]);
    await appendToOutbox(
      trx,
      rows.map((row) => ({ kind: 'start', ...topUpStart(row) })),
    );
    return rows.length;
  });
}
