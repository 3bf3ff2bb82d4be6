import type { AccountTier } from '../../delivery/ledger/limits/tiers.ts';
import { MILLICENTS_PER_CENT } from '../../delivery/ledger/money/wallet.ts';
import { AppError } from '../../errors.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { logOperatorChange } from '../accounts/service.ts';

export const priceKinds = ['email', 'sms', 'validation'] as const;

export interface PriceKey {
  tier: AccountTier;
  kind: (typeof priceKinds)[number];
  /** ISO 3166-1 alpha-2, only for SMS. */
  country: string | null;
}

export interface Price extends PriceKey {
  /** With up to three decimals. */
  cents: number;
}

/** Lists the book of prices. */
export async function listPrices(db: Queryable): Promise<Price[]> {
  const { rows } = await db.query<PriceKey & { millicents: number }>(
    `select tier, kind, country, millicents from prices
     order by array_position(array['free', 'paid', 'trusted'], tier), kind, country`,
  );
  return rows.map(({ millicents, ...key }) => ({ ...key, cents: millicents / MILLICENTS_PER_CENT }));
}

async function requireKey(db: Queryable, { kind, country }: PriceKey): Promise<void> {
  if (kind === 'sms' && country === null)
    throw new AppError('validation_error', 'an SMS price needs a country');
  if (kind !== 'sms' && country !== null) {
    throw new AppError('validation_error', 'only SMS prices have a country');
  }
  if (country === null) return;
  const { rowCount } = await db.query('select 1 from phone_prefixes where country = $1 limit 1', [country]);
  if (rowCount === 0) {
    throw new AppError('validation_error', `${country} is not the code of a country with telephone numbers`);
  }
}

/**
 * Sets a price from now on. Reservations keep their price.
 * @param millicents null removes the price
 * @param actor who sets it, for the log
 * @throws AppError `validation_error`
 */
export async function setPrice(
  trx: Queryable,
  key: PriceKey,
  millicents: number | null,
  actor: string,
): Promise<void> {
  await requireKey(trx, key);
  const { tier, kind, country } = key;
  const { rows } = await trx.query<{ millicents: number }>(
    `select millicents from prices where tier = $1 and kind = $2 and country is not distinct from $3 for update`,
    [tier, kind, country],
  );
  await (millicents === null
    ? trx.query('delete from prices where tier = $1 and kind = $2 and country is not distinct from $3', [
        tier,
        kind,
        country,
      ])
    : trx.query(
        `insert into prices (tier, kind, country, millicents) values ($1, $2, $3, $4)
         on conflict (tier, kind, country) do update set millicents = excluded.millicents`,
        [tier, kind, country, millicents],
      ));
  const cents = (value: number | null) => (value === null ? null : value / MILLICENTS_PER_CENT);
  const name = [tier, kind, ...(country === null ? [] : [country])].join(' ');
  const changes = { [name]: { from: cents(rows[0]?.millicents ?? null), to: cents(millicents) } };
  await logOperatorChange(trx, { accountId: null, actor, action: 'price set', changes });
}
