import { fn, type ModelObject, raw } from 'objection';
import type { ProviderDnsRecord } from '../../delivery/wire/adapters/kind.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import { TenantModel } from '../../platform/db/model.ts';
import { countRows, type Page, type RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { RecordChecks } from './check.ts';
import type { ProviderDemand } from './provider.ts';
import type { DomainStatus } from './schema.ts';
import type { DomainState } from './transitions.ts';

export class DomainModel extends TenantModel {
  static override readonly tableName = 'domains';
  static override readonly columns = [
    'id',
    'account_id',
    'brand_id',
    'name',
    'provider_id',
    'status',
    'return_path_host',
    'tracking_host',
    'provider_records',
    'provider_error',
    'carillon_signs',
    'checks',
    'checking_since',
    'verified_at',
    'lost_at',
    'taken_over',
    'failing_since',
    'failing_count',
    'unanswered_since',
    'degraded_at',
    'release_due',
    'checked_at',
    'next_check_at',
    'created_at',
  ];
  static override readonly jsonColumns = ['checks', 'provider_records'];

  declare account_id: number;
  declare brand_id: number;
  declare name: string;
  declare provider_id: number | null;
  declare status: DomainStatus;
  declare return_path_host: string;
  declare tracking_host: string;
  declare provider_records: ProviderDnsRecord[] | null;
  declare provider_error: string | null;
  declare carillon_signs: boolean;
  declare checks: RecordChecks;
  declare ed25519_valid: boolean;
  declare checking_since: Date;
  declare verified_at: Date | null;
  declare lost_at: Date | null;
  declare taken_over: boolean;
  declare failing_since: Date | null;
  declare failing_count: number;
  declare unanswered_since: Date | null;
  declare degraded_at: Date | null;
  declare release_due: boolean;
  declare checked_at: Date | null;
  declare next_check_at: Date;
  declare engine_expected_by: Date;
  declare created_at: Date;
  declare updated_at: Date;
}

export type DomainRow = ModelObject<DomainModel>;

/**
 * Whether the records of a domain are known. If the domain has a named provider, the provider must have named the
 * records that it requires.
 */
export function isRegistered(row: Pick<DomainRow, 'provider_id' | 'provider_records'>): boolean {
  return row.provider_id === null || row.provider_records !== null;
}

/** The inputs of a domain's records that are not in its row. */
interface Related {
  domain_id: number;
  provider: string | null;
  keys: { selector: string; algorithm: 'rsa' | 'ed25519'; public_key: string }[];
  /** Whether the brand has an inbox at the domain. */
  has_inbox: boolean;
}

export type DomainRelated = Omit<Related, 'domain_id'>;

/** @returns null if there is no email provider of this name, or it is reserved for other accounts */
export async function findProviderId(
  db: Queryable,
  { accountId }: Pick<Tenant, 'accountId'>,
  name: string,
): Promise<number | null> {
  const { rows } = await db.query<{ id: number }>(
    `select id from providers where name = $1 and channel = 'email' and removed_at is null
       and (account_ids is null or $2 = any(account_ids))`,
    [name, accountId],
  );
  return rows[0]?.id ?? null;
}

export async function nextDomainId(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ id: number }>(
    `select nextval(pg_get_serial_sequence('domains', 'id')) as id`,
  );
  return rows[0]?.id ?? 0;
}

/** @returns null if the brand has a domain of this name */
export async function insertDomain(
  db: Queryable,
  tenant: Tenant,
  row: Pick<DomainRow, 'id' | 'name' | 'provider_id' | 'return_path_host' | 'tracking_host'>,
): Promise<DomainRow | null> {
  const { rows } = await db.query<DomainRow>(
    `insert into domains (id, account_id, brand_id, name, provider_id, return_path_host, tracking_host)
     values ($1, $2, $3, $4, $5, $6, $7) on conflict (brand_id, name) do nothing
     returning ${DomainModel.columns.join(', ')}`,
    [
      row.id,
      tenant.accountId,
      tenant.brandId,
      row.name,
      row.provider_id,
      row.return_path_host,
      row.tracking_host,
    ],
  );
  return rows[0] ?? null;
}

export function findDomain(db: Queryable, tenant: Tenant, id: number): Promise<DomainRow | null> {
  return DomainModel.findInBrand(db, tenant, id);
}

/** What decides whether a brand may have a new domain. */
export async function findRoom(
  db: Queryable,
  { accountId, brandId }: Tenant,
  name: string,
): Promise<{ capabilities: Record<string, unknown>; taken: boolean; count: number }> {
  const { rows } = await db.query<{ capabilities: Record<string, unknown>; taken: boolean; count: number }>(
    `select a.capabilities, coalesce(bool_or(d.name = $3), false) as taken, count(d.id) as count
     from accounts a left join domains d on d.account_id = a.id and d.brand_id = $2
     where a.id = $1 group by a.id`,
    [accountId, brandId, name],
  );
  return rows[0] ?? { capabilities: {}, taken: false, count: 0 };
}

/** Newest first. */
export async function findDomains(db: Queryable, tenant: Tenant, page: Page): Promise<DomainRow[]> {
  const query = DomainModel.ofBrand(db, tenant).select(DomainModel.columns).orderBy('id', 'desc');
  if (page.after !== null) void query.where('id', '<', page.after);
  return query.limit(page.limit).offset(page.offset);
}

export function countDomains(db: Queryable, { brandId }: Tenant): Promise<RowCount> {
  return countRows(db, 'domains d where d.brand_id = $1', [brandId]);
}

export async function deleteDomain(db: Queryable, tenant: Tenant, id: number): Promise<DomainRow | null> {
  const rows = await DomainModel.ofBrand(db, tenant).where('id', id).delete().returning(DomainModel.columns);
  return rows[0] ?? null;
}

/** For the watch, which works across tenants. */
export function findById(db: Queryable, id: number): Promise<DomainRow | null> {
  return DomainModel.findRow(db, id);
}

/** Reads all claims of a name, and locks them until the transaction ends. */
export async function lockClaims(trx: Queryable, name: string): Promise<DomainRow[]> {
  return DomainModel.on(trx).where('name', name).orderBy('id').forUpdate().select(DomainModel.columns);
}

/** How late the workflow may be before the reconciler checks that it is running. */
const ENGINE_GRACE = `interval '10 minutes'`;

/** When the workflow must have made a check that is due at a time. */
const graceFrom = (dueAt: Date) => raw(`?::timestamptz + ${ENGINE_GRACE}`, [dueAt]);

/**
 * Stores the result of a domain's check. A domain that becomes verified releases the mail that waits for it.
 * @param trx a transaction that has locked the row
 */
export async function saveCheck(
  trx: Queryable,
  id: number,
  state: DomainState,
  { checks, checkedAt, nextCheckAt }: { checks: RecordChecks; checkedAt: Date | null; nextCheckAt: Date },
): Promise<DomainRow> {
  const [row] = await DomainModel.on(trx)
    .where('id', id)
    .patch({
      // `status` here is the former one.
      release_due: raw(`release_due or (status <> 'verified' and ?::text = 'verified')`, [state.status]),
      status: state.status,
      checking_since: state.checkingSince,
      verified_at: state.verifiedAt,
      lost_at: state.lostAt,
      taken_over: state.takenOver,
      failing_since: state.failingSince,
      failing_count: state.failingCount,
      unanswered_since: state.unansweredSince,
      degraded_at: state.degradedAt,
      checks,
      ed25519_valid: checks.dkim_ed25519?.valid === 'true',
      checked_at: checkedAt,
      next_check_at: nextCheckAt,
      engine_expected_by: graceFrom(nextCheckAt),
      updated_at: fn.now(),
    })
    .returning(DomainModel.columns);
  return row as DomainRow;
}

/** Records that the mail that waited for the domain has been released. */
export async function endRelease(db: Queryable, id: number): Promise<void> {
  await DomainModel.on(db).where({ id, release_due: true }).patch({ release_due: false });
}

/** A domain whose named provider has not named its records yet. */
const unregistered = (db: Queryable, id: number) =>
  DomainModel.on(db).where('id', id).whereNotNull('provider_id').whereNull('provider_records');

/**
 * Stores the records that a domain's named provider requires, if none are stored yet. Only now can the client publish
 * all records, so the schedule of checks begins.
 */
export async function saveProviderRecords(
  db: Queryable,
  id: number,
  { records, carillonSigns }: ProviderDemand,
  asOf: Date,
): Promise<void> {
  const nextCheckAt = new Date(asOf.getTime() + 60_000);
  await unregistered(db, id).patch({
    provider_records: [...records],
    carillon_signs: carillonSigns,
    provider_error: null,
    status: raw(`case when status = 'failed' and lost_at is null then 'pending' else status end`),
    checking_since: asOf,
    next_check_at: nextCheckAt,
    engine_expected_by: graceFrom(nextCheckAt),
    updated_at: fn.now(),
  });
}

/**
 * Replaces the optional records of a provider. New required records are ignored, so that a verified domain does not
 * fail because of them.
 */
export async function saveOptionalRecords(
  db: Queryable,
  id: number,
  records: readonly ProviderDnsRecord[],
): Promise<void> {
  await db.query(
    `update domains set updated_at = now(), provider_records =
       jsonb_path_query_array(provider_records, '$[*] ? (@.required == true)') || $2::jsonb
     where id = $1 and provider_records is not null`,
    [id, JSON.stringify(records.filter(({ required }) => !required))],
  );
}

/** Stores why a domain's named provider refuses it, and makes a check due, which decides when to ask again. */
export async function saveProviderError(
  db: Queryable,
  id: number,
  reason: string,
  asOf: Date,
): Promise<void> {
  await unregistered(db, id).patch({
    provider_error: reason,
    next_check_at: raw('least(next_check_at, ?)', [asOf]),
    updated_at: fn.now(),
  });
}

/** Completes the step `domain` of the account's onboarding, once. */
export async function completeDomainStep(trx: Queryable, accountId: number, at: Date): Promise<void> {
  await trx.query(
    `update accounts set onboarding_state = onboarding_state || jsonb_build_object(
       'domain', jsonb_build_object('completed_at', $2::text))
     where id = $1 and not onboarding_state ? 'domain'`,
    [accountId, at.toISOString()],
  );
}

/** What the records of domains depend on besides their rows, by domain id. */
export async function findRelated(
  db: Queryable,
  ids: readonly number[],
): Promise<Map<number, DomainRelated>> {
  const { rows } = await db.query<Related>(
    `select d.id as domain_id, p.name as provider,
       (select coalesce(json_agg(json_build_object(
          'selector', k.selector, 'algorithm', k.algorithm, 'public_key', k.public_key) order by k.id), '[]')
        from dkim_keys k where k.domain_id = d.id and k.retired_at is null) as keys,
       exists (select from inboxes i
               where i.brand_id = d.brand_id and i.domain_name = d.name and i.removed_at is null) as has_inbox
     from domains d left join providers p on p.id = d.provider_id where d.id = any($1::bigint[])`,
    [ids],
  );
  return new Map(rows.map(({ domain_id, ...related }) => [domain_id, related]));
}

async function hasten(
  db: Queryable,
  tenant: Tenant,
  by: { id: number } | { name: string },
): Promise<DomainRow | null> {
  const [row] = await DomainModel.ofBrand(db, tenant)
    .where(by)
    .patch({
      next_check_at: raw(`least(next_check_at, greatest(now(), checked_at + interval '15 seconds'))`),
      engine_expected_by: raw(`least(engine_expected_by, now() + interval '1 minute')`),
      updated_at: fn.now(),
    })
    .returning(DomainModel.columns);
  return row ?? null;
}

/**
 * Makes the next check due. A domain that was just checked waits for some seconds, so that a client that rechecks all
 * the time does not load the name servers.
 * @returns null if the brand has no such domain
 */
export function hastenCheck(db: Queryable, tenant: Tenant, id: number): Promise<DomainRow | null> {
  return hasten(db, tenant, { id });
}

/** Like {@link hastenCheck}. */
export function hastenCheckOfName(db: Queryable, tenant: Tenant, name: string): Promise<DomainRow | null> {
  return hasten(db, tenant, { name });
}
