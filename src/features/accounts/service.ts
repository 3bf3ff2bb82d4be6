import { parseEmailAddress } from '../../delivery/terms/addresses/email.ts';
import type { LimitSettings } from '../../delivery/ledger/limits/authority.ts';
import type { AccountTier } from '../../delivery/ledger/limits/tiers.ts';
import { endReleaseFunction, releaseHeldFunction } from '../../delivery/ledger/release/release-held.ts';
import { readSenders } from '../../delivery/terms/sender-identity.ts';
import { notFound, invalid, type ValidationErrors } from '../../errors.ts';
import type { AccountTenant } from '../../platform/auth/tenant.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { createBrand, type NewBrand } from '../brands/service.ts';
import type { ImageReferences } from '../uploads/service.ts';
import { addMember, type AddedMember } from '../users/service.ts';
import { logOperatorChange } from './log.ts';
import {
  ACCOUNT_COLUMNS,
  type AccountFigures,
  type AccountRow,
  type ApprovalState,
  findAccountFigures,
  findCustomer,
  hasSender,
  insertAccount,
  type ProfileValues,
  updateProfile,
} from './model.ts';
import type { Capability, PatchAccountBody } from './schema.ts';

export { type AccountLogRow, listOperatorChanges, logOperatorChange } from './log.ts';
export type { AccountRow, AccountRules, ApprovalState } from './model.ts';
export { needsApproval, requireCapability } from './rules.ts';

/** Settings that only an operator can change, with `carillon account`. */
export interface OperatorSettings {
  name?: string;
  tier?: AccountTier;
  approvalState?: ApprovalState;
  comped?: boolean;
  /** Whether validations may send the account's addresses to the outside validator. */
  outsideValidation?: boolean;
  /** Maximum number of messages per month while no domain is verified; null: the setting SANDBOX_MONTHLY_CAP. */
  sandboxMonthlyCap?: number | null;
  /** Maximum number of messages in any 24 hours; null: the setting of the tier. */
  allowancePerDay?: number | null;
  spendCapMonthlyCents?: number | null;
  /** Number of free emails per calendar month; null: the setting of the tier. */
  monthlyEmailAllowance?: number | null;
  /** What the account may use; null: the default. Omitted names stay unchanged. */
  capabilities?: Partial<Record<Capability, boolean | null>>;
  /** Ids of providers in failover order; null: only the provider of the settings. */
  emailProviderIds?: number[] | null;
  smsProviderIds?: number[] | null;
}

export interface NewAccount extends OperatorSettings {
  name: string;
  owner: { email: string; password?: string; firstName?: string; lastName?: string };
  /** The person who creates the account, for its log. */
  actor?: string;
  /** Other fields of its first brand. */
  brand?: Pick<NewBrand, 'brandColor' | 'physicalAddress'>;
}

const SETTING_COLUMNS = {
  name: 'name',
  tier: 'tier',
  approvalState: 'approval_state',
  comped: 'comped',
  outsideValidation: 'outside_validation',
  sandboxMonthlyCap: 'sandbox_monthly_cap',
  allowancePerDay: 'allowance_per_day',
  spendCapMonthlyCents: 'spend_cap_monthly_cents',
  monthlyEmailAllowance: 'monthly_email_allowance',
  capabilities: 'capabilities',
  emailProviderIds: 'email_provider_ids',
  smsProviderIds: 'sms_provider_ids',
} satisfies Record<keyof OperatorSettings, keyof AccountRow>;

/** The actor in the log if no name is given. */
const OPERATOR = 'operator';

/** The entry for a change in the account's log. */
interface LoggedAs {
  actor: string;
  action: string;
}

/** Returns the columns and values of the given settings. An undefined setting stays unchanged. */
function assignments(settings: OperatorSettings): { columns: (keyof AccountRow)[]; values: unknown[] } {
  const names = Object.keys(SETTING_COLUMNS) as (keyof OperatorSettings)[];
  const given = names.filter((name) => settings[name] !== undefined);
  return { columns: given.map((name) => SETTING_COLUMNS[name]), values: given.map((name) => settings[name]) };
}

/**
 * Creates an account with its first brand and its owner.
 * @param trx a transaction, so that either all three are created or none
 */
export async function createAccount(
  trx: Queryable,
  input: NewAccount,
): Promise<{ account: AccountRow; brandId: number; owner: AddedMember }> {
  const { columns, values } = assignments(input);
  const settings = Object.fromEntries(columns.map((column, index) => [column, values[index]]));
  const account = await insertAccount(trx, settings);
  await trx.query('insert into account_counters (account_id) values ($1)', [account.id]);
  await logOperatorChange(trx, {
    accountId: account.id,
    actor: input.actor ?? OPERATOR,
    action: 'account create',
    changes: { name: account.name, tier: account.tier },
  });
  const brandId = await createBrand(trx, {
    accountId: account.id,
    companyName: input.name,
    ...input.brand,
  });
  const owner = await addMember(trx, { ...input.owner, accountId: account.id, role: 'owner' });
  return { account, brandId, owner };
}

/** @throws AppError `not_found` */
export async function findAccount(db: Queryable, id: number): Promise<AccountRow> {
  const row = await findCustomer(db, id);
  if (!row) throw notFound('account');
  return row;
}

/**
 * Changes operator settings. `undefined` leaves a setting unchanged; `null` resets it to the installation's default.
 * @param actor who changes them, for the log of the account
 * @throws AppError `not_found`
 */
export async function setAccount(
  db: Queryable,
  id: number,
  settings: OperatorSettings,
  actor: string = OPERATOR,
): Promise<AccountRow> {
  const { columns, values } = assignments(settings);
  if (columns.length === 0) return findAccount(db, id);
  const set = columns.map((column, index) => `${column} = ${newValue(column, `$${index + 2}`)}`).join(', ');
  // The new settings may allow held messages to be sent.
  return updateAccount(db, id, set, values, { release: true, logged: { actor, action: 'account set' } });
}

/** SQL: the new value of a column. @param given SQL: the parameter */
function newValue(column: keyof AccountRow, given: string): string {
  return column === 'capabilities' ? `jsonb_strip_nulls(capabilities || ${given}::jsonb)` : given;
}

export interface Pause {
  /** Shown to the account. */
  reason: string;
  /** If only the brakes have paused the account, links in sent mail still work. */
  by: 'operator' | 'brakes';
  /** The operator's name, for the log of the account. */
  actor?: string | undefined;
}

/**
 * Pauses sending: messages of the account are held from now on. Pausing again keeps the time of the first pause. It
 * ends a release of held messages, and waits for intents that are being written. Once the pause is committed, only
 * messages with such an intent can still be sent.
 * @param reason shown to the account
 * @param actor who pauses it, for the log of the account
 * @throws AppError `not_found`
 */
export function pauseSending(
  db: Queryable,
  accountId: number,
  reason: string,
  by: Pause['by'] = 'operator',
  actor: string = by,
): Promise<AccountRow> {
  const set =
    'sending_paused_at = coalesce(sending_paused_at, now()), sending_paused_reason = $2, sending_paused_by = $3';
  const logged = { actor, action: 'account pause' };
  return updateAccount(db, accountId, set, [reason, by], { stopSending: true, logged });
}

/**
 * Pauses sending as {@link pauseSending} does, unless it is paused already.
 * @param trx the caller's transaction
 * @returns whether the account was sending
 */
export async function pauseIfSending(
  trx: Queryable,
  accountId: number,
  { reason, by, actor }: Pause,
): Promise<boolean> {
  // First takes the lock that a pause waits for, so that concurrent pauses take turns.
  await trx.query('select stop_intents($1)', [accountId]);
  const { rowCount } = await trx.query(
    `select 1 from accounts where id = $1 and kind = 'customer' and sending_paused_at is null`,
    [accountId],
  );
  if (rowCount === 0) return false;
  await pauseSending(trx, accountId, reason, by, actor);
  return true;
}

/**
 * Resumes sending. Senders release the held messages in pages. The rates that the brakes check start from zero.
 * @param actor who resumes it, for the log of the account
 * @throws AppError `not_found`
 */
export function resumeSending(
  db: Queryable,
  accountId: number,
  actor: string = OPERATOR,
): Promise<AccountRow> {
  const set = 'sending_paused_at = null, sending_paused_reason = null, sending_paused_by = null';
  const logged = { actor, action: 'account resume' };
  return updateAccount(db, accountId, set, [], { release: true, restartRates: true, logged });
}

interface AccountUpdate {
  /** Waits for intents of the account that are being written, and ends the release of its held messages. */
  stopSending?: true;
  /** Makes senders check immediately which held messages can be sent. */
  release?: true;
  /** Resets the counts of outcomes. */
  restartRates?: true;
  logged: LoggedAs;
}

async function updateAccount(
  db: Queryable,
  id: number,
  set: string,
  values: unknown[],
  { stopSending, release, restartRates, logged }: AccountUpdate,
): Promise<AccountRow> {
  const given = values.length + 1;
  // The condition is always true. It comes first because recorders lock outcomes before blocks.
  const account = 'case when (select count(*) from restarted) >= 0 then u.id end';
  const ended = stopSending ? `cross join lateral ${endReleaseFunction.name}(${account})` : '';
  const released = release ? `cross join lateral ${releaseHeldFunction.name}(${account}, false)` : '';
  const { rows } = await db.query<AccountRow>(
    `with stopped as materialized (select ${stopSending ? 'stop_intents($1)' : 'null'}),
       old as materialized (
         select ${ACCOUNT_COLUMNS} from accounts
         where id = $1 and kind = 'customer' and (select count(*) from stopped) = 1 for no key update
       ), updated as (
         update accounts set ${set}, updated_at = now() where id = (select id from old) returning ${ACCOUNT_COLUMNS}
       ), logged as (
         insert into account_log (account_id, actor, action, changes)
         select o.id, $${given + 1}, $${given + 2}, changed.changes
         from updated u join old o on o.id = u.id cross join lateral (
           select jsonb_object_agg(new.key, jsonb_build_object('from', was.value, 'to', new.value)) as changes
           from jsonb_each(to_jsonb(u)) new join jsonb_each(to_jsonb(o)) was on was.key = new.key
           where was.value <> new.value) changed
         where changed.changes is not null
       ), restarted as (
         delete from account_outcomes where ${restartRates ?? false} and account_id in (select id from updated) returning 1
       )
     select u.* from updated u ${ended} ${released}`,
    [id, ...values, logged.actor, logged.action],
  );
  if (!rows[0]) throw notFound('account');
  return rows[0];
}

/** The part of an account that its own users see and change. */
export interface AccountProfile {
  /** @throws AppError not_found */
  find(tenant: AccountTenant): Promise<AccountFigures>;
  /**
   * @throws AppError validation_error that names every invalid field; sender_not_verified if the fields are valid but
   *   `email_from_email` is not a verified sender identity of the brand
   */
  change(tenant: AccountTenant, body: PatchAccountBody): Promise<AccountFigures>;
}

interface ProfileDeps {
  db: Queryable;
  images: ImageReferences;
  mailDomain: string;
  limits: LimitSettings;
}

export function createAccountProfile(deps: ProfileDeps): AccountProfile {
  async function find(tenant: AccountTenant): Promise<AccountFigures> {
    const figures = await findAccountFigures(deps.db, tenant, deps.limits);
    if (!figures) throw notFound('account');
    return figures;
  }
  return {
    find,
    async change(tenant, body) {
      const errors: ValidationErrors = {};
      const changes = {
        ...textChanges(body),
        ...(await imageChanges(deps, tenant, body, errors)),
      };
      if (Object.keys(errors).length > 0) throw invalid(errors);
      await requireVerifiedSender(deps, tenant, changes.email_from_email);
      await updateProfile(deps.db, tenant.accountId, changes);
      return find(tenant);
    },
  };
}

function textChanges(body: PatchAccountBody): ProfileValues {
  const changes: ProfileValues = {};
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

/** Returns an address in the form used on the wire. The schema has already refused invalid addresses. */
function normalized(text: string): string {
  const parsed = parseEmailAddress(text);
  return 'error' in parsed ? text : parsed.address;
}

/** @param errors receives an error for each image that the account did not upload */
async function imageChanges(
  { images }: ProfileDeps,
  tenant: AccountTenant,
  body: PatchAccountBody,
  errors: ValidationErrors,
): Promise<ProfileValues> {
  const changes: ProfileValues = {};
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

/**
 * Checks for a verified sender of the current brand. The stored address is always accepted, because it may belong to
 * another brand.
 */
async function requireVerifiedSender(
  { db, mailDomain }: ProfileDeps,
  { accountId, brandId }: AccountTenant,
  address: unknown,
): Promise<void> {
  if (typeof address !== 'string') return;
  const parsed = parseEmailAddress(address);
  const senders = await readSenders(db, { accountId, brandId: brandId ?? 0 }, mailDomain);
  if (!('error' in parsed) && senders.resolve(parsed) !== null) return;
  if (await hasSender(db, accountId, address)) return;
  throw invalid({ email_from_email: ['is not a verified sender of this brand'] }, 'sender_not_verified');
}
