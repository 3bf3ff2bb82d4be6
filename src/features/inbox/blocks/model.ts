import type { ModelObject } from 'objection';
import { type BrandScope, TenantModel } from '../../../platform/db/model.ts';
import { countRows, type Page, type RowCount } from '../../../platform/db/paging.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';

export class InboxBlockModel extends TenantModel {
  static override readonly tableName = 'inbox_blocks';
  static override readonly columns = ['id', 'account_id', 'brand_id', 'email', 'domain', 'created_at'];
  declare account_id: number;
  declare brand_id: number;
  declare email: string | null;
  declare domain: string | null;
  declare created_at: Date;
}
export type InboxBlockRow = ModelObject<InboxBlockModel>;

/** @returns null if the brand has this block */
export async function insertBlock(
  db: Queryable,
  { accountId, brandId }: BrandScope,
  { email, domain }: Pick<InboxBlockRow, 'email' | 'domain'>,
): Promise<InboxBlockRow | null> {
  const { rows } = await db.query<InboxBlockRow>(
    `insert into inbox_blocks (account_id, brand_id, email, domain) values ($1, $2, $3, $4)
     on conflict (brand_id, coalesce(email, domain)) do nothing returning ${InboxBlockModel.columns.join(', ')}`,
    [accountId, brandId, email, domain],
  );
  return rows[0] ?? null;
}

/** Newest first. */
export async function findBlocks(db: Queryable, scope: BrandScope, page: Page): Promise<InboxBlockRow[]> {
  const query = InboxBlockModel.ofBrand(db, scope).select(InboxBlockModel.columns).orderBy('id', 'desc');
  if (page.after !== null) void query.where('id', '<', page.after);
  return query.limit(page.limit).offset(page.offset);
}

export function countBlocks(db: Queryable, { brandId }: BrandScope): Promise<RowCount> {
  return countRows(db, 'inbox_blocks b where b.brand_id = $1', [brandId]);
}

/** @returns null if the brand has no such block */
export function findBlock(db: Queryable, scope: BrandScope, id: number): Promise<InboxBlockRow | null> {
  return InboxBlockModel.findInBrand(db, scope, id);
}

/** @returns null if the brand has no such block */
export async function deleteBlock(
  db: Queryable,
  scope: BrandScope,
  id: number,
): Promise<InboxBlockRow | null> {
  const [row] = await InboxBlockModel.ofBrand(db, scope)
    .where('id', id)
    .delete()
    .returning(InboxBlockModel.columns);
  return row ?? null;
}
