import type { AccountScope, BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

/** How long a page can be opened, in seconds. */
const LIFETIME_SECONDS = 60;
/** Maximum number of pages of one brand; the newest stay. */
const MAX_PAGES = 100;

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
export async function findPreview(
  db: Queryable,
  { accountId }: AccountScope,
  id: number,
): Promise<string | null> {
  const { rows } = await db.query<{ page: string }>(
    'select page from previews where id = $1 and account_id = $2 and expires_at > now()',
    [id, accountId],
  );
  return rows[0]?.page ?? null;
}
