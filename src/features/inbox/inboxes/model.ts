import type { Tenant } from '../../../platform/auth/tenant.ts';
import { countRows, type Page, type RowCount } from '../../../platform/db/paging.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { INBOX_RECORD } from '../../domains/schema.ts';
import { QUARANTINED_BYTES, UNPROVED_BYTES } from '../retention/shares.ts';

/** A row of `inboxes`, with what is known of its domain. */
export interface InboxRow {
  id: number;
  account_id: number;
  brand_id: number;
  /** Null: the built-in address. */
  domain_name: string | null;
  address: string;
  address_key: string;
  name: string | null;
  enabled: boolean;
  create_contacts: boolean;
  evicted_count: number;
  last_evicted_at: Date | null;
  created_at: Date;
  updated_at: Date;
  /** The brand's claim of the domain; null: there is none now. */
  domain_id: number | null;
  /** The result of the last check of the MX record; null: it was not checked. */
  mx: 'true' | 'false' | 'unknown' | null;
}

/** Selects from `i`, which is `inboxes` or has its columns. */
const SELECT = `
  select i.id, i.account_id, i.brand_id, i.domain_name, i.address, i.address_key, i.name, i.enabled, i.create_contacts,
    i.evicted_count, i.last_evicted_at, i.created_at, i.updated_at, d.id as domain_id, d.checks -> '${INBOX_RECORD}' ->> 'valid' as mx`;
const JOIN = 'left join domains d on d.brand_id = i.brand_id and d.name = i.domain_name';
const OF_BRAND = 'i.account_id = $1 and i.brand_id = $2 and i.removed_at is null';

/** Newest first. */
export async function findInboxes(
  db: Queryable,
  { accountId, brandId }: Tenant,
  page: Page,
): Promise<{ rows: InboxRow[]; count: RowCount }> {
  const [{ rows }, count] = await Promise.all([
    db.query<InboxRow>(
      `${SELECT} from inboxes i ${JOIN} where ${OF_BRAND} and ($3::bigint is null or i.id < $3)
       order by i.id desc limit $4 offset $5`,
      [accountId, brandId, page.after, page.limit, page.offset],
    ),
    countRows(db, `inboxes i where ${OF_BRAND}`, [accountId, brandId]),
  ]);
  return { rows, count };
}

/** @returns null if the brand has no such inbox */
export async function findInbox(
  db: Queryable,
  { accountId, brandId }: Tenant,
  id: number,
): Promise<InboxRow | null> {
  const { rows } = await db.query<InboxRow>(
    `${SELECT} from inboxes i ${JOIN} where ${OF_BRAND} and i.id = $3`,
    [accountId, brandId, id],
  );
  return rows[0] ?? null;
}

/** The columns that a client decides. */
export type InboxValues = Pick<
  InboxRow,
  'domain_name' | 'address' | 'address_key' | 'name' | 'enabled' | 'create_contacts'
>;

/** @returns null if the brand has an inbox with this address */
export async function insertInbox(
  db: Queryable,
  { accountId, brandId }: Tenant,
  values: InboxValues,
): Promise<InboxRow | null> {
  const { rows } = await db.query<InboxRow>(
    `with i as (
       insert into inboxes (account_id, brand_id, domain_name, address, address_key, name, enabled, create_contacts)
       values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict do nothing returning *)
     ${SELECT} from i ${JOIN}`,
    [
      accountId,
      brandId,
      values.domain_name,
      values.address,
      values.address_key,
      values.name,
      values.enabled,
      values.create_contacts,
    ],
  );
  return rows[0] ?? null;
}

/** What may change. An undefined value stays unchanged. */
export interface InboxChanges {
  name?: string | null | undefined;
  enabled?: boolean | undefined;
  create_contacts?: boolean | undefined;
}

/** @returns null if the brand has no such inbox */
export async function updateInbox(
  db: Queryable,
  { accountId, brandId }: Tenant,
  id: number,
  { name, enabled, create_contacts }: InboxChanges,
): Promise<InboxRow | null> {
  const { rows } = await db.query<InboxRow>(
    `with i as (
       update inboxes i set name = case when $4 then $5 else name end, enabled = coalesce($6, enabled),
         create_contacts = coalesce($7, create_contacts), updated_at = now()
       where ${OF_BRAND} and i.id = $3 returning *)
     ${SELECT} from i ${JOIN}`,
    [accountId, brandId, id, name !== undefined, name ?? null, enabled ?? null, create_contacts ?? null],
  );
  return rows[0] ?? null;
}

/** Hides an inbox; its conversations stay. @returns null if the brand has no such inbox */
export async function hideInbox(
  db: Queryable,
  { accountId, brandId }: Tenant,
  id: number,
): Promise<InboxRow | null> {
  const { rows } = await db.query<InboxRow>(
    `with i as (
       update inboxes i set removed_at = now(), updated_at = now() where ${OF_BRAND} and i.id = $3 returning *)
     ${SELECT} from i ${JOIN}`,
    [accountId, brandId, id],
  );
  return rows[0] ?? null;
}

/** Whether the brand has proved that a domain is its own. */
export async function hasVerifiedDomain(
  db: Queryable,
  { accountId, brandId }: Tenant,
  name: string,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from domains where account_id = $1 and brand_id = $2 and name = $3 and status = 'verified'`,
    [accountId, brandId, name],
  );
  return rowCount === 1;
}

/** What the mail of an account stores. */
export interface InboxUsageRow {
  bytes: number;
  quarantined: number;
  unproved: number;
  evicted_count: number;
  evicted_bytes: number;
  last_evicted_at: Date | null;
}

/** @returns null if the account has never received mail */
export async function findInboxUsage(db: Queryable, accountId: number): Promise<InboxUsageRow | null> {
  const { rows } = await db.query<InboxUsageRow>(
    `select s.bytes, s.evicted_count, s.evicted_bytes, s.last_evicted_at, ${QUARANTINED_BYTES} as quarantined,
       ${UNPROVED_BYTES} as unproved
     from inbox_storage s where s.account_id = $1`,
    [accountId],
  );
  return rows[0] ?? null;
}
