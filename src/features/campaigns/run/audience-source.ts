import type { Queryable } from '../../../platform/db/queryable.ts';
import { compileAudience, includedSets } from '../audience.ts';
import type { CampaignRow } from '../model.ts';
import type { PinnedAudience } from '../pinned-audience.ts';

/** A campaign with its audience in the current form. */
export type PinnedRow = CampaignRow & { audience: PinnedAudience };

/** Returns those of the lists that no longer exist. */
export async function missingLists(db: Queryable, ids: readonly number[]): Promise<number[]> {
  if (ids.length === 0) return [];
  const { rows } = await db.query<{ id: number }>(
    `select i.id from unnest($1::bigint[]) as i (id)
     where not exists (select 1 from lists l where l.id = i.id and l.removed_at is null)`,
    [ids],
  );
  return rows.map(({ id }) => id);
}

/** Evaluates the whole audience into `campaign_contacts`, as of the start of the snapshot. */
export async function evaluateAudience(trx: Queryable, row: PinnedRow): Promise<void> {
  const { id, brand_id: brandId, max_contact_id: highest, snapshot_at: asOf, audience } = row;
  const condition = await compileAudience(trx, { brandId, asOf: asOf ?? new Date() }, audience, 4);
  await trx.query(
    `insert into campaign_contacts (campaign_id, contact_id)
     select $1, c.id from contacts c where c.brand_id = $2 and c.id <= $3 and ${condition.sql}
     on conflict do nothing`,
    [id, brandId, highest ?? 0, ...condition.values],
  );
}

/** SQL that selects the contacts `c` of a page, with the values of its parameters from `$2` on; `$1` is the brand. */
export interface PageSource {
  sql: string;
  values: unknown[];
  /** The last contact id of the page; null if it is the last page. */
  upTo: number | null;
}

/** Chooses the table that lists the contacts of the audience by id. */
function walkOf({ id, brand_id: brandId, audience: { listId, evaluated } }: PinnedRow) {
  if (evaluated) return { table: 'campaign_contacts', column: 'contact_id', key: 'campaign_id', value: id };
  if (listId !== null) return { table: 'list_members', column: 'contact_id', key: 'list_id', value: listId };
  return { table: 'contacts', column: 'id', key: 'brand_id', value: brandId };
}

/**
 * Finds the next contacts of the audience, by id.
 * @param row with its cursor
 * @param size number of contacts to examine
 */
export async function nextPage(trx: Queryable, row: PinnedRow, size: number): Promise<PageSource> {
  const { brand_id: brandId, cursor, snapshot_at: asOf } = row;
  const highest = row.max_contact_id ?? 0;
  const { table, column, key, value } = walkOf(row);
  const { rows } = await trx.query<{ id: number }>(
    `select ${column} as id from ${table} where ${key} = $1 and ${column} > $2 and ${column} <= $3
     order by ${column} offset $4 limit 1`,
    [value, cursor, highest, size - 1],
  );
  const upTo = rows[0]?.id ?? null;
  const contacts = { brandId, asOf: asOf ?? new Date(), paged: true };
  const range = 'c.id > $2 and c.id <= $3';
  const values: unknown[] = [cursor, upTo ?? highest];
  if (table === 'contacts') {
    const condition = await compileAudience(trx, contacts, row.audience, 4);
    return { sql: `${range} and ${condition.sql}`, values: [...values, ...condition.values], upTo };
  }
  const members = `${range} and c.id in (
    select w.contact_id from ${table} w where w.${key} = $4 and w.contact_id > $2 and w.contact_id <= $3)`;
  const audience = { ...row.audience, listId: null };
  const isWhole =
    audience.evaluated ||
    (includedSets(audience).length === 0 &&
      audience.excludeListIds.length === 0 &&
      audience.excludeFilters.length === 0);
  if (isWhole) return { sql: members, values: [...values, value], upTo };
  const condition = await compileAudience(trx, contacts, audience, 5);
  return { sql: `${members} and ${condition.sql}`, values: [...values, value, ...condition.values], upTo };
}
