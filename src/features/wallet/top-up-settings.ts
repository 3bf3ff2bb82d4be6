import type { Queryable } from '../../platform/db/queryable.ts';
import { AppError, notFound } from '../../errors.ts';
import { logOperatorChange } from '../accounts/service.ts';

/** Settings of automatic top-ups. An undefined setting stays as it is. */
export interface TopUpSettings {
  enabled?: boolean;
  /** The amount of each payment. */
  amountCents?: number;
  /** A top-up starts when the balance is below this. */
  belowCents?: number;
  /** The payment service's ids of the customer and of the stored payment method. */
  customer?: string;
  paymentMethod?: string;
}

interface SettingsRow {
  enabled: boolean;
  amount_cents: number | null;
  below_cents: number | null;
  customer: string | null;
  payment_method: string | null;
}

/**
 * Locks the account in a mode that does not block writers of its wallet's entries, which reference it: they may already
 * have locked its settings.
 */
async function lockSettings(trx: Queryable, accountId: number): Promise<SettingsRow> {
  const { rows } = await trx.query<SettingsRow>(
    `select a.auto_topup as enabled, s.amount_cents, s.below_cents, s.customer, s.payment_method
     from accounts a left join topup_settings s on s.account_id = a.id
     where a.id = $1 and a.kind = 'customer' for no key update of a`,
    [accountId],
  );
  if (!rows[0]) throw notFound('account');
  return rows[0];
}

/** The differences, in the form that the log stores. */
function changesOf(before: SettingsRow, after: SettingsRow): Record<string, unknown> {
  const names = Object.keys(after) as (keyof SettingsRow)[];
  return Object.fromEntries(
    names
      .filter((name) => before[name] !== after[name])
      .map((name) => [
        name === 'enabled' ? 'auto_topup' : `topup_${name}`,
        { from: before[name], to: after[name] },
      ]),
  );
}

/**
 * Changes the settings of automatic top-ups. Turning them on forgets earlier failures.
 * @param trx the caller's transaction
 * @param actor who changes them, for the log
 * @throws AppError `not_found`; `validation_error` if top-ups are on and a setting is missing
 */
export async function setTopUps(
  trx: Queryable,
  accountId: number,
  settings: TopUpSettings,
  actor: string,
): Promise<void> {
  const before = await lockSettings(trx, accountId);
  const after: SettingsRow = {
    enabled: settings.enabled ?? before.enabled,
    amount_cents: settings.amountCents ?? before.amount_cents,
    below_cents: settings.belowCents ?? before.below_cents,
    customer: settings.customer ?? before.customer,
    payment_method: settings.paymentMethod ?? before.payment_method,
  };
  await trx.query('update accounts set auto_topup = $2, updated_at = now() where id = $1', [
    accountId,
    after.enabled,
  ]);
  await store(trx, accountId, after, settings.enabled === true);
  const changes = changesOf(before, after);
  if (Object.keys(changes).length > 0) {
    await logOperatorChange(trx, { accountId, actor, action: 'account set', changes });
  }
}

/** @param restart forgets earlier failures */
async function store(trx: Queryable, accountId: number, after: SettingsRow, restart: boolean): Promise<void> {
  const { enabled, ...stored } = after;
  const missing = Object.entries(stored).filter(([, value]) => value === null);
  if (!enabled && missing.length === Object.keys(stored).length) return;
  if (missing.length > 0) {
    const names = missing.map(([name]) => name.replace('_', ' ')).join(', ');
    throw new AppError('validation_error', `automatic top-ups also need: ${names}`);
  }
  await trx.query(
    `insert into topup_settings as s (account_id, amount_cents, below_cents, customer, payment_method)
     values ($1, $2, $3, $4, $5)
     on conflict (account_id) do update set amount_cents = excluded.amount_cents, below_cents = excluded.below_cents,
       customer = excluded.customer, payment_method = excluded.payment_method,
       failures = case when $6 then 0 else s.failures end`,
    [accountId, after.amount_cents, after.below_cents, after.customer, after.payment_method, restart],
  );
}
