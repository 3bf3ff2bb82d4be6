import { invalid, notFound } from '../../errors.ts';
import type { AccountScope } from '../../platform/db/model.ts';
import type { Page, RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import {
  type BrandChanges,
  completeBrandStep,
  countBrands,
  findBrand,
  findBrands,
  insertBrand,
} from './model.ts';
import type { ShownBrand } from './presenter.ts';
import { findLatestScrape, findLatestScrapes } from './scrape/model.ts';

/** Maximum number of brands that users create in an account. */
const MAX_BRANDS = 100;

/** Lists the account's brands, newest first. */
export async function listBrands(
  db: Queryable,
  scope: AccountScope,
  page: Page,
): Promise<{ brands: ShownBrand[]; count: RowCount }> {
  const rows = await findBrands(db, scope, page);
  const scrapes = await findLatestScrapes(
    db,
    rows.map(({ id }) => id),
  );
  const scrapeOf = new Map(scrapes.map((scrape) => [scrape.brand_id, scrape]));
  const brands = rows.map((row) => ({ row, scrape: scrapeOf.get(row.id) ?? null }));
  return { brands, count: await countBrands(db, scope) };
}

/**
 * Creates another brand of the account.
 * @throws AppError validation_error if the account has {@link MAX_BRANDS}
 */
export async function addBrand(
  trx: Queryable,
  scope: AccountScope,
  changes: BrandChanges,
): Promise<ShownBrand> {
  await trx.query('select 1 from accounts where id = $1 for no key update', [scope.accountId]);
  if ((await countBrands(trx, scope)).total >= MAX_BRANDS) {
    throw invalid({ brands: [`are limited to ${MAX_BRANDS} for each account`] });
  }
  const row = await insertBrand(trx, scope, changes);
  await completeBrandStep(trx, row);
  return { row, scrape: null };
}

/** @throws AppError not_found if the account has no such brand */
export async function getBrand(db: Queryable, scope: AccountScope, id: number): Promise<ShownBrand> {
  const row = await findBrand(db, scope, id);
  if (!row) throw notFound('brand');
  return { row, scrape: await findLatestScrape(db, row.id) };
}
