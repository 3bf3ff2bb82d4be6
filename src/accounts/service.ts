import { createBrand, type NewBrand } from '../brands/service.ts';
import type { Queryable } from '../db/queryable.ts';
import { releaseHeld } from '../delivery/authority.ts';
import { notFound } from '../errors.ts';
import { addMember, type AddedMember } from '../users/service.ts';

export type Tier = 'free' | 'paid' | 'trusted';
export type ApprovalState = 'not_required' | 'pending' | 'approved' | 'rejected';

/** What only an operator changes, by `carillon account`. */
export interface OperatorSettings {
  name?: string;
  tier?: Tier;
  approvalState?: ApprovalState;
  comped?: boolean;
  /** Messages a month while no domain is verified; null: the setting SANDBOX_MONTHLY_CAP. */
  sandboxMonthlyCap?: number | null;
  /** Messages in rolling 24 hours; null: the setting of the tier. */
  allowancePerDay?: number | null;
  spendCapMonthlyCents?: number | null;
}

export interface Account extends Required<OperatorSettings> {
  id: number;
  sendingPausedAt: Date | null;
  sendingPausedReason: string | null;
  createdAt: Date;
}

export interface NewAccount extends OperatorSettings {
  name: string;
  owner: { email: string; password?: string; firstName?: string; lastName?: string };
  /** Of its first brand. */
  brand?: Pick<NewBrand, 'brandColor' | 'physicalAddress'>;
}

const COLUMNS: Record<keyof OperatorSettings, string> = {
  name: 'name',
  tier: 'tier',
  approvalState: 'approval_state',
  comped: 'comped',
  sandboxMonthlyCap: 'sandbox_monthly_cap',
  allowancePerDay: 'allowance_per_day',
  spendCapMonthlyCents: 'spend_cap_monthly_cents',
};

const SELECTED = [
  'id',
  ...Object.entries(COLUMNS).map(([name, column]) => `${column} as "${name}"`),
  'sending_paused_at as "sendingPausedAt"',
  'sending_paused_reason as "sendingPausedReason"',
  'created_at as "createdAt"',
].join(', ');

/** Columns and values of the settings given; what is undefined stays as it is. */
function assignments(settings: OperatorSettings): { columns: string[]; values: unknown[] } {
  const names = Object.keys(COLUMNS) as (keyof OperatorSettings)[];
  const given = names.filter((name) => settings[name] !== undefined);
  return { columns: given.map((name) => COLUMNS[name]), values: given.map((name) => settings[name]) };
}

/**
 * An account, its first brand and its owner. Call it in a transaction.
 * @param trx the three are made together or not at all
 */
export async function createAccount(
  trx: Queryable,
  input: NewAccount,
): Promise<{ account: Account; brandId: number; owner: AddedMember }> {
  const { columns, values } = assignments(input);
  const { rows } = await trx.query<Account>(
    `insert into accounts (${columns.join(', ')}) values (${columns.map((_, index) => `$${index + 1}`).join(', ')})
     returning ${SELECTED}`,
    values,
  );
  const account = rows[0] as Account;
  await trx.query('insert into account_counters (account_id) values ($1)', [account.id]);
  const brandId = await createBrand(trx, {
    accountId: account.id,
    companyName: input.name,
    ...input.brand,
  });
  const owner = await addMember(trx, { ...input.owner, accountId: account.id, role: 'owner' });
  return { account, brandId, owner };
}

async function updateAccount(db: Queryable, id: number, set: string, values: unknown[]): Promise<Account> {
  const { rows } = await db.query<Account>(
    `update accounts set ${set}, updated_at = now() where id = $1 and kind = 'customer' returning ${SELECTED}`,
    [id, ...values],
  );
  if (!rows[0]) throw notFound('account');
  return rows[0];
}

/** @throws AppError `not_found` */
export async function findAccount(db: Queryable, id: number): Promise<Account> {
  const { rows } = await db.query<Account>(
    `select ${SELECTED} from accounts where id = $1 and kind = 'customer'`,
    [id],
  );
  if (!rows[0]) throw notFound('account');
  return rows[0];
}

/**
 * Change what an operator may; `undefined` leaves a setting, `null` gives it back to the service's default.
 * @throws AppError `not_found`
 */
export async function setAccount(db: Queryable, id: number, settings: OperatorSettings): Promise<Account> {
  const { columns, values } = assignments(settings);
  if (columns.length === 0) return findAccount(db, id);
  const set = columns.map((column, index) => `${column} = $${index + 2}`).join(', ');
  const account = await updateAccount(db, id, set, values);
  // It may send more now.
  await releaseHeld(db, id);
  return account;
}

/**
 * Hold everything the account would send; a second pause keeps the first one's time.
 * @param reason shown to the account
 * @throws AppError `not_found`
 */
export function pauseSending(db: Queryable, accountId: number, reason: string): Promise<Account> {
  return updateAccount(
    db,
    accountId,
    'sending_paused_at = coalesce(sending_paused_at, now()), sending_paused_reason = $2',
    [reason],
  );
}

/**
 * Let the account send again; what it held goes at once.
 * @throws AppError `not_found`
 */
export async function resumeSending(db: Queryable, accountId: number): Promise<Account> {
  const set = 'sending_paused_at = null, sending_paused_reason = null';
  const account = await updateAccount(db, accountId, set, []);
  await releaseHeld(db, accountId);
  return account;
}
