import { parseEmailAddress } from '../../delivery/addresses/email.ts';
import { releaseHeld, type CapacitySettings } from '../../delivery/limits/capacity.ts';
import { sandboxAddress } from '../../delivery/sender-identity.ts';
import { notFound, invalid, type ValidationErrors } from '../../errors.ts';
import type { AccountTenant } from '../../platform/auth/tenant.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { createBrand, type NewBrand } from '../brands/service.ts';
import type { ImageReferences } from '../uploads/service.ts';
import { addMember, type AddedMember } from '../users/service.ts';
import { findAccountFigures, type AccountFigures } from './model.ts';
import type { PatchAccountBody } from './schema.ts';

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

/** What an account's own people change. */
export interface AccountProfile {
  /** @throws AppError not_found */
  find(tenant: AccountTenant): Promise<AccountFigures>;
  /**
   * @throws AppError validation_error naming every bad field; sender_not_verified where only
   *   `email_from_email` is wrong, and is no verified sender identity of the account
   */
  change(tenant: AccountTenant, body: PatchAccountBody): Promise<AccountFigures>;
}

interface ProfileDeps {
  db: Queryable;
  images: ImageReferences;
  mailDomain: string;
  capacity: CapacitySettings;
}

type Changes = Record<string, unknown>;

/** As it goes on the wire: the schema let only addresses in. */
function normalized(text: string): string {
  const parsed = parseEmailAddress(text);
  return 'error' in parsed ? text : parsed.address;
}

function textChanges(body: PatchAccountBody): Changes {
  const changes: Changes = {};
  for (const field of ['name', 'email_from_name'] as const) {
    if (body[field] !== undefined) changes[field] = body[field];
  }
  for (const field of ['email_from_email', 'email_reply_to'] as const) {
    const given = body[field];
    if (given !== undefined) changes[field] = given === null ? null : normalized(given);
  }
  const recipients = body.test_email_recipients;
  if (recipients) changes.test_email_recipients = [...new Set(recipients.map(normalized))];
  return changes;
}

async function checkImages(
  { images }: ProfileDeps,
  tenant: AccountTenant,
  body: PatchAccountBody,
  errors: ValidationErrors,
): Promise<Changes> {
  const changes: Changes = {};
  for (const field of ['avatar', 'banner'] as const) {
    const given = body[field];
    if (given === undefined) continue;
    changes[field] = given === null ? null : await images.accept(tenant.accountId, given);
    if (given !== null && changes[field] === null) {
      errors[field] = ['must be the signed_id of an uploaded image'];
    }
  }
  return changes;
}

/** Until domains are registered the sandbox's address is the one verified sender. */
function requireVerifiedSender(deps: ProfileDeps, tenant: AccountTenant, address: unknown): void {
  if (typeof address !== 'string') return;
  if (address.toLowerCase() === sandboxAddress(tenant.accountId, deps.mailDomain)) return;
  throw invalid({ email_from_email: ['is not a verified sender of this account'] }, 'sender_not_verified');
}

async function write(db: Queryable, accountId: number, changes: Changes): Promise<void> {
  const names = Object.keys(changes);
  if (names.length === 0) return;
  const set = names.map((name, index) => `${name} = $${index + 2}`).join(', ');
  await db.query(`update accounts set ${set}, updated_at = now() where id = $1`, [
    accountId,
    ...Object.values(changes),
  ]);
}

export function createAccountProfile(deps: ProfileDeps): AccountProfile {
  async function find(tenant: AccountTenant): Promise<AccountFigures> {
    const figures = await findAccountFigures(deps.db, tenant.accountId, deps.capacity);
    if (!figures) throw notFound('account');
    return figures;
  }
  return {
    find,
    async change(tenant, body) {
      const errors: ValidationErrors = {};
      const changes = { ...textChanges(body), ...(await checkImages(deps, tenant, body, errors)) };
      if (Object.keys(errors).length > 0) throw invalid(errors);
      requireVerifiedSender(deps, tenant, changes.email_from_email);
      await write(deps.db, tenant.accountId, changes);
      return find(tenant);
    },
  };
}
