/** Rows of `accounts`, and what an account has used. */
import { fn, type ModelObject, type PartialModelObject } from 'objection';
import type { LimitSettings } from '../../delivery/ledger/limits/authority.ts';
import { settingIn } from '../../delivery/terms/sql-parts.ts';
import { type Capacity, readCapacity } from '../../delivery/ledger/limits/capacity.ts';
import { type Projections, projectNext } from '../../delivery/ledger/limits/projection.ts';
import {
  emailPriceSql,
  highestSmsPriceSql,
  monthlyEmailsSql,
  paysSql,
} from '../../delivery/ledger/money/prices.ts';
import { usageSql } from '../../delivery/ledger/money/usage.ts';
import type { AccountTier } from '../../delivery/ledger/limits/tiers.ts';
import type { AccountTenant } from '../../platform/auth/tenant.ts';
import { RowModel } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

export type ApprovalState = 'not_required' | 'pending' | 'approved' | 'rejected';

class AccountModel extends RowModel {
  static override readonly tableName = 'accounts';
  static override readonly columns = [
    'id',
    'name',
    'tier',
    'approval_state',
    'comped',
    'outside_validation',
    'sandbox_monthly_cap',
    'allowance_per_day',
    'spend_cap_monthly_cents',
    'monthly_email_allowance',
    'capabilities',
    'email_provider_ids',
    'sms_provider_ids',
    'sending_paused_at',
    'sending_paused_reason',
    'created_at',
  ];
  static override readonly jsonColumns = ['capabilities'];

  declare kind: 'customer' | 'system';
  declare name: string | null;
  declare tier: AccountTier;
  declare approval_state: ApprovalState;
  declare comped: boolean;
  declare outside_validation: boolean;
  declare sandbox_monthly_cap: number | null;
  declare allowance_per_day: number | null;
  declare spend_cap_monthly_cents: number | null;
  declare monthly_email_allowance: number | null;
  /** Exceptions from the defaults. */
  declare capabilities: Record<string, unknown>;
  declare email_provider_ids: number[] | null;
  declare sms_provider_ids: number[] | null;
  declare sending_paused_at: Date | null;
  declare sending_paused_reason: string | null;
  declare avatar: string | null;
  declare banner: string | null;
  declare email_from_name: string | null;
  declare email_from_email: string | null;
  declare email_reply_to: string | null;
  declare test_email_recipients: string[];
  declare created_at: Date;
  declare updated_at: Date;
}

type ProfileColumn =
  | 'name'
  | 'avatar'
  | 'banner'
  | 'email_from_name'
  | 'email_from_email'
  | 'email_reply_to'
  | 'test_email_recipients';

/** The columns of `accounts` that an operator sees. */
export type AccountRow = Omit<
  ModelObject<AccountModel>,
  Exclude<ProfileColumn, 'name'> | 'kind' | 'updated_at'
>;

/** SQL: the columns of an {@link AccountRow}. */
export const ACCOUNT_COLUMNS = AccountModel.columns.join(', ');

/** Inserts an account of a customer. */
export async function insertAccount(
  trx: Queryable,
  values: PartialModelObject<AccountModel>,
): Promise<AccountRow> {
  return AccountModel.on(trx).insert(values).returning(AccountModel.columns);
}

/** @returns null if there is no such account of a customer */
export async function findCustomer(db: Queryable, id: number): Promise<AccountRow | null> {
  const [row] = await AccountModel.on(db).where({ id, kind: 'customer' }).select(AccountModel.columns);
  return row ?? null;
}

/** What an account may do, and whether an operator approves what it sends. */
export type AccountRules = Pick<AccountRow, 'tier' | 'approval_state' | 'capabilities'>;

/** @param accountId an account that exists */
export async function findRules(db: Queryable, accountId: number): Promise<AccountRules> {
  const [row] = await AccountModel.on(db)
    .where('id', accountId)
    .select('tier', 'approval_state', 'capabilities');
  return row as AccountRules;
}

/** The columns that an account's own users change. `undefined` leaves a column unchanged. */
export type ProfileValues = Partial<Pick<AccountModel, ProfileColumn>>;

export async function updateProfile(db: Queryable, accountId: number, values: ProfileValues): Promise<void> {
  if (Object.keys(values).length === 0) return;
  await AccountModel.on(db)
    .where('id', accountId)
    .patch({ ...values, updated_at: fn.now() });
}

/** Whether mail of an account is from an address by default. */
export async function hasSender(db: Queryable, accountId: number, address: string): Promise<boolean> {
  const rows = await AccountModel.on(db).where({ id: accountId, email_from_email: address }).select('id');
  return rows.length === 1;
}

/** An account with its usage and its remaining capacity. Fields are named after the columns. */
export interface AccountFigures {
  id: number;
  name: string | null;
  avatar: string | null;
  banner: string | null;
  comped: boolean;
  auto_topup: boolean;
  email_from_name: string | null;
  email_from_email: string | null;
  email_reply_to: string | null;
  test_email_recipients: string[];
  onboarding_state: Record<string, unknown>;
  capabilities: Record<string, unknown>;
  created_at: Date;
  updated_at: Date;
  /** Charged outcomes in the current month (UTC). */
  email_used: number;
  sms_used: number;
  ai_used: number;
  /** All-time totals. */
  email_sent: number;
  sms_sent: number;
  ai_total: number;
  /** Number of free emails per month. */
  monthly_emails: number;
  /** Price of each further email, in millicents. */
  email_price: number;
  /** Price of an SMS segment to the most expensive country, in millicents. */
  sms_price: number;
  /** The first message of any brand of the account, not counting test messages. */
  first_message_at: Date | null;
  /** The oldest contact of any brand of the account. */
  first_contact_at: Date | null;
  /** A verified domain of the brand; null: it has none, and sends from the sandbox. */
  verified_domain_id: number | null;
  capacity: Capacity;
  /** What would happen to an email from that domain, or from the sandbox if there is none. */
  next: Projections;
}

/** Maximum number of a brand's oldest messages that are searched for the first one that is not a test. */
const MAX_LOOKED_AT = 10_000;

const FIND = `
select a.id, a.name, a.avatar, a.banner, a.comped, a.auto_topup, a.email_from_name, a.email_from_email,
  a.email_reply_to, a.test_email_recipients, a.onboarding_state, a.capabilities, a.created_at, a.updated_at,
  u.email_used, u.sms_used, u.ai_used, u.email_sent, u.sms_sent, u.ai_total,
  ${monthlyEmailsSql('a', settingIn('$2::jsonb'))} as monthly_emails,
  case when ${paysSql('a')} then ${emailPriceSql('a')} else 0 end as email_price,
  case when ${paysSql('a')} then ${highestSmsPriceSql('a')} else 0 end as sms_price,
  (select min(first.created_at) from brands br cross join lateral (
     select early.created_at from (
       select m.id, m.created_at, m.test from messages m where m.brand_id = br.id order by m.id limit ${MAX_LOOKED_AT}) early
     where not early.test order by early.id limit 1) first
   where br.account_id = a.id) as first_message_at,
  (select min(first.created_at) from brands br cross join lateral (
     select c.created_at from contacts c where c.brand_id = br.id order by c.id limit 1) first
   where br.account_id = a.id) as first_contact_at,
  (select min(d.id) from domains d where d.account_id = a.id and d.brand_id = $3 and d.status = 'verified') as verified_domain_id
from accounts a
cross join lateral (${usageSql('a')}) u
where a.id = $1`;

/**
 * @param brandId the brand whose domains count; null: the account has no brand yet
 * @param settings the settings of the limits
 * @returns null if the account does not exist
 */
export async function findAccountFigures(
  db: Queryable,
  { accountId, brandId }: Pick<AccountTenant, 'accountId' | 'brandId'>,
  settings: LimitSettings,
): Promise<AccountFigures | null> {
  const { rows } = await db.query<Omit<AccountFigures, 'capacity' | 'next'>>(FIND, [
    accountId,
    JSON.stringify(settings),
    brandId,
  ]);
  const row = rows[0];
  if (!row) return null;
  const capacity = await readCapacity(db, accountId, settings);
  const next = await projectNext(db, { accountId, domainId: row.verified_domain_id }, settings);
  return { ...row, capacity, next };
}
