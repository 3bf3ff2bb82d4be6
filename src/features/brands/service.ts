import type pg from 'pg';
import { invalid, notFound } from '../../errors.ts';
import type { AccountTenant } from '../../platform/auth/tenant.ts';
import type { AccountScope, BrandScope } from '../../platform/db/model.ts';
import { type Queryable, inTransaction } from '../../platform/db/queryable.ts';
import { type IfMatch, requireRevision } from '../../platform/db/revisions.ts';
import { uploadUrl, type ImageReferences } from '../uploads/service.ts';
import {
  completeBrandStep,
  findBrand,
  findFirstBrandId,
  insertBrand,
  lockBrandRow,
  updateBrand,
  type BrandChanges,
  type BrandRow,
} from './model.ts';
import { presentBrand, type ShownBrand } from './presenter.ts';
import { isLogoUrl, type Brand, type PutBrandBody } from './schema.ts';
import { findLatestScrape } from './scrape/model.ts';

export interface NewBrand {
  accountId: number;
  companyName: string;
  /** `#` and six hexadecimal digits. A brand is complete once it has a color and a name. */
  brandColor?: string;
  /** Campaigns need it in their footer. */
  physicalAddress?: string;
}

export interface BrandService {
  /** @returns null if the tenant has no brand yet */
  find(tenant: AccountTenant): Promise<ShownBrand | null>;
  /**
   * Changes the tenant's brand, or creates the account's first.
   * @throws AppError precondition_failed; validation_error if `logo` is neither a URL nor an image that the account
   *   uploaded
   */
  put(tenant: AccountTenant, body: PutBrandBody, ifMatch: IfMatch): Promise<ShownBrand>;
  /** Finds an uploaded logo. Call it before the transaction. @throws AppError validation_error, as {@link put} */
  changesOf(tenant: AccountTenant, body: PutBrandBody): Promise<BrandChanges>;
  /** Finds the tenant's brand, or creates the account's first. @returns its id */
  ensure(tenant: AccountTenant): Promise<number>;
}

/**
 * Creates a brand.
 * @returns its id
 */
export async function createBrand(db: Queryable, input: NewBrand): Promise<number> {
  const brand = await insertBrand(db, input, {
    company_name: input.companyName,
    brand_color: input.brandColor,
    physical_address: input.physicalAddress,
  });
  await completeBrandStep(db, brand);
  return brand.id;
}

/**
 * Finds a brand by id, or the account's first brand if no id is given.
 * @returns its id; null if the account has no such brand, or none at all
 */
export async function findBrandId(db: Queryable, scope: AccountScope, id?: number): Promise<number | null> {
  if (id === undefined) return findFirstBrandId(db, scope);
  return (await findBrand(db, scope, id))?.id ?? null;
}

export function createBrandService(deps: { pool: pg.Pool; images: ImageReferences }): BrandService {
  const { pool, images } = deps;

  async function logoOf(tenant: AccountTenant, body: PutBrandBody): Promise<string | null | undefined> {
    const { logo } = body;
    if (logo === undefined || logo === null) return logo;
    // GET shows an uploaded logo as a URL. If a client sends that URL back, it means the same upload.
    const reference = await images.accept(tenant.accountId, logo.slice(logo.lastIndexOf('/') + 1));
    if (reference) return reference;
    if (isLogoUrl(logo)) return logo;
    throw invalid({ logo: ['must be a URL or the signed_id of an uploaded image'] });
  }

  const changesOf = async (tenant: AccountTenant, body: PutBrandBody): Promise<BrandChanges> => ({
    ...body,
    logo: await logoOf(tenant, body),
  });

  const withScrape = async (row: BrandRow): Promise<ShownBrand> => ({
    row,
    scrape: await findLatestScrape(pool, row.id),
  });

  return {
    async find(tenant) {
      const row = tenant.brandId === null ? null : await findBrand(pool, tenant, tenant.brandId);
      return row && withScrape(row);
    },
    async put(tenant, body, ifMatch) {
      const changes = await changesOf(tenant, body);
      const row = await inTransaction(pool, async (trx) => {
        const brandId = tenant.brandId ?? (await lockFirstBrandId(trx, tenant));
        const before = brandId === null ? null : await lockBrandRow(trx, tenant, brandId);
        requireRevision(ifMatch, before);
        const brand = before
          ? await updateBrand(trx, tenant, before, changes)
          : await insertBrand(trx, tenant, changes);
        await completeBrandStep(trx, brand);
        return brand;
      });
      return withScrape(row);
    },
    changesOf,
    async ensure(tenant) {
      if (tenant.brandId !== null) return tenant.brandId;
      return inTransaction(pool, async (trx) => {
        const brandId = await lockFirstBrandId(trx, tenant);
        return brandId ?? (await insertBrand(trx, tenant, {})).id;
      });
    },
  };
}

/**
 * Returns a function that reads a brand, presented, without its scrape.
 * @throws AppError not_found if the account has no such brand
 */
export function createBrandReader(db: Queryable, images: ImageReferences) {
  const present = createBrandPresenter(images);
  return async (scope: BrandScope, publicUrl: string): Promise<Brand> => {
    const brand = await findBrand(db, scope, scope.brandId);
    if (!brand) throw notFound('brand');
    return present({ row: brand, scrape: null }, publicUrl);
  };
}

/** Returns a function that presents a brand; the URL of an uploaded logo starts with `publicUrl`. */
export function createBrandPresenter(
  images: ImageReferences,
): (brand: ShownBrand, publicUrl: string) => Brand {
  return (brand, publicUrl) =>
    presentBrand(brand, (accountId, reference) => {
      const signedId = images.show(accountId, reference);
      return signedId === null ? null : uploadUrl(publicUrl, signedId);
    });
}

/**
 * Finds the account's first brand under a lock. If an account without a brand gets two PUTs at once, the second waits
 * here and then finds the first one's brand. The look-up must be a separate statement, because it needs a snapshot
 * taken after the lock.
 */
async function lockFirstBrandId(trx: Queryable, scope: AccountScope): Promise<number | null> {
  await trx.query('select 1 from accounts where id = $1 for no key update', [scope.accountId]);
  return findFirstBrandId(trx, scope);
}
