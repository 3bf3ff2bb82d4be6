import type { Queryable } from '../../platform/db/queryable.ts';
import type { OperationRow } from './model.ts';
import type { Verdict } from './checks/verdict.ts';

/** The result of one item. */
export interface ItemResult {
  id: number;
  verdict: Verdict;
  reason: string;
  checks: object | null;
  suggestion: string | null;
  charged: boolean;
  /** ISO 8601. For a reused result, when it was found. */
  checkedAt: string;
  /** Whether it was found now, so that the contact's last result changes. */
  isNew: boolean;
  /** Whether other operations may reuse it. */
  reusable: boolean;
}

/** An item whose mail server asked to try again later. */
export interface Postponed {
  id: number;
  retryAt: Date;
}

/**
 * SQL: locks the operation while it runs: the transaction that ends it waits, and later pages find nothing. A trigger
 * counts the results in this row, so with a shared lock two pages could wait for each other.
 */
const RUNNING = `running as materialized (
  select id from validation_operations where id = $1 and status = 'running' for no key update)`;

const RESULTS = `results as materialized (
  select * from unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::boolean[], $8::timestamptz[],
    $9::boolean[], $10::boolean[])
    as r (id, verdict, reason, checks, suggestion, charged, checked_at, is_new, reusable)
), ${RUNNING}, written as (
  update validation_items i set verdict = r.verdict, reason = r.reason, checks = r.checks::jsonb,
    suggestion = case when i.email is not null then r.suggestion end, charged = r.charged,
    checked_at = r.checked_at, retry_at = null
  from results r cross join running where i.id = r.id and i.operation_id = running.id and i.verdict is null
  returning i.id, i.contact_id, i.email_key
)`;

/**
 * If the contact's address has changed or is gone, the contact stays as it is. Contacts are locked in the order of
 * their ids, before the rows that refer to them.
 */
const CONTACTS = `found as materialized (
  select r.*, w.contact_id, w.email_key from results r join written w using (id)
), locked as materialized (
  select c.id, c.email_key from contacts c
  where c.brand_id = $11 and c.id = any(array(select contact_id from found)) order by c.id for no key update
), kept as (
  insert into contact_verdicts as v
    (contact_id, brand_id, email_key, verdict, reason, checks, suggestion, reusable, checked_at)
  select f.contact_id, $11, f.email_key, f.verdict, f.reason, f.checks::jsonb, f.suggestion, f.reusable, f.checked_at
  from found f join locked l on l.id = f.contact_id and l.email_key = f.email_key where f.is_new
  order by f.contact_id
  on conflict (contact_id) do update set brand_id = excluded.brand_id, email_key = excluded.email_key, verdict = excluded.verdict,
    reason = excluded.reason, checks = excluded.checks, suggestion = excluded.suggestion,
    reusable = excluded.reusable, checked_at = excluded.checked_at
  where v.checked_at <= excluded.checked_at or v.email_key <> excluded.email_key
), verified as (
  update contacts c set email_verified = (f.verdict = 'deliverable'), email_updated_at = now(), updated_at = now()
  from found f join locked l on l.id = f.contact_id and l.email_key = f.email_key
  where c.id = f.contact_id and c.email_key = f.email_key and f.verdict in ('deliverable', 'undeliverable')
    and c.email_verified <> (f.verdict = 'deliverable')
)`;

/**
 * Writes results to items that have none, in one statement: each item gets one result and is charged once, even if
 * another process writes the same page. Results of a test key change no contact.
 * @returns the number of results written; 0 if the operation no longer runs
 */
export async function writeResults(
  db: Queryable,
  row: Pick<OperationRow, 'id' | 'brand_id' | 'test'>,
  results: readonly ItemResult[],
): Promise<number> {
  if (results.length === 0) return 0;
  const values: unknown[] = [
    row.id,
    results.map(({ id }) => id),
    results.map(({ verdict }) => verdict),
    results.map(({ reason }) => reason),
    results.map(({ checks }) => (checks === null ? null : JSON.stringify(checks))),
    results.map(({ suggestion }) => suggestion),
    results.map(({ charged }) => charged),
    results.map(({ checkedAt }) => checkedAt),
    results.map(({ isNew }) => isNew),
    results.map(({ reusable }) => reusable),
  ];
  if (!row.test) values.push(row.brand_id);
  const ctes = row.test ? RESULTS : `${RESULTS}, ${CONTACTS}`;
  const { rows } = await db.query<{ count: number }>(
    `with ${ctes} select count(*) as count from written`,
    values,
  );
  return rows[0]?.count ?? 0;
}

/** Records when to check items again. Items that already have a time keep it. */
export async function postponeItems(
  db: Queryable,
  operationId: number,
  items: readonly Postponed[],
): Promise<void> {
  if (items.length === 0) return;
  await db.query(
    `with ${RUNNING}
     update validation_items i set retry_at = p.at
     from unnest($2::bigint[], $3::timestamptz[]) as p (id, at) cross join running
     where i.id = p.id and i.operation_id = running.id and i.verdict is null and i.retry_at is null`,
    [operationId, items.map(({ id }) => id), items.map(({ retryAt }) => retryAt)],
  );
}
