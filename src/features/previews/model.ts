import { fn } from 'objection';
import { type AccountScope, type BrandScope, TenantModel } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

/** How long a page can be opened, in seconds. */
const LIFETIME_SECONDS = 60;
/** Maximum number of pages of one brand; the newest stay. */
const MAX_PAGES = 100;

class PreviewModel extends TenantModel {
  static override readonly tableName = 'previews';
  static override readonly columns = ['id', 'page', 'expires_at'];
  /** The whole HTML of the page. */
  declare page: string;
  declare expires_at: Date;
}

/** Keeps a page, and removes those of the brand that have expired. */
export async function insertPreview(
  db: Queryable,
  { accountId, brandId }: BrandScope,
  page: string,
): Promise<{ id: number; expires_at: Date }> {
  const { rows } = await db.query<{ id: number; expires_at: Date }>(
    `with removed as (
       delete from previews where brand_id = $2 and (expires_at < now() or id <= (
         select id from previews where brand_id = $2 order by id desc offset ${MAX_PAGES - 1} limit 1)))
     insert into previews (account_id, brand_id, page, expires_at)
     values ($1, $2, $3, now() + make_interval(secs => ${LIFETIME_SECONDS})) returning id, expires_at`,
    [accountId, brandId, page],
  );
  return rows[0] as { id: number; expires_at: Date };
}

/** @returns null if the page has expired */
export async function findPreview(db: Queryable, scope: AccountScope, id: number): Promise<string | null> {
  const [row] = await PreviewModel.ofAccount(db, scope)
    .where('id', id)
    .where('expires_at', '>', fn.now())
    .select('page');
  return row?.page ?? null;
}
