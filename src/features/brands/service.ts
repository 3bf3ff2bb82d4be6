import type pg from 'pg';
import { invalid, notFound } from '../../errors.ts';
import type { AccountTenant } from '../../platform/auth/tenant.ts';
import type { AccountScope, BrandScope } from '../../platform/db/model.ts';
import { type Queryable, inTransaction } from '../../platform/db/queryable.ts';
import { uploadUrl, type ImageReferences } from '../uploads/service.ts';
import { findBrand, findFirstBrandId, insertBrand, isComplete, updateBrand, type BrandRow } from './model.ts';
import { presentBrand } from './presenter.ts';
import { isLogoUrl, type Brand, type PutBrandBody } from './schema.ts';

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
  find(tenant: AccountTenant): Promise<BrandRow | null>;
  /**
   * Changes the tenant's brand, or creates the account's first.
   * @throws AppError validation_error if `logo` is neither a URL nor an image that the account uploaded
   */
  put(tenant: AccountTenant, body: PutBrandBody): Promise<BrandRow>;
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
  await markComplete(db, brand);
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
    // GET shows an uploaded logo as a URL. A client that sends the URL back means the same upload.
    const reference = await images.accept(tenant.accountId, logo.slice(logo.lastIndexOf('/') + 1));
    if (reference) return reference;
    if (isLogoUrl(logo)) return logo;
    throw invalid({ logo: ['must be a URL or the signed_id of an uploaded image'] });
  }

  return {
    find: async (tenant) => (tenant.brandId === null ? null : findBrand(pool, tenant, tenant.brandId)),
    async put(tenant, body) {
      const changes = { ...body, logo: await logoOf(tenant, body) };
      return inTransaction(pool, async (trx) => {
        const brandId = tenant.brandId ?? (await lockFirstBrandId(trx, tenant));
        const brand =
          brandId === null
            ? await insertBrand(trx, tenant, changes)
            : await updateBrand(trx, tenant, brandId, changes);
        await markComplete(trx, brand);
        return brand;
      });
    },
  };
}

/**
 * Returns a function that reads a brand, presented.
 * @throws AppError not_found if the account has no such brand
 */
export function createBrandReader(db: Queryable, images: ImageReferences) {
  const present = createBrandPresenter(images);
  return async (scope: BrandScope, publicUrl: string): Promise<Brand> => {
    const brand = await findBrand(db, scope, scope.brandId);
    if (!brand) throw notFound('brand');
    return present(brand, publicUrl);
  };
}

/** Returns a function that presents a brand; the URL of an uploaded logo begins with `publicUrl`. */
export function createBrandPresenter(images: ImageReferences): (row: BrandRow, publicUrl: string) => Brand {
  return (row, publicUrl) =>
    presentBrand(row, (accountId, reference) => {
      const signedId = images.show(accountId, reference);
      return signedId === null ? null : uploadUrl(publicUrl, signedId);
    });
}

/**
 * Finds the account's first brand under a lock. If an account without a brand gets two PUTs at once, the second waits
 * here and then finds the brand of the first. The look-up must be its own statement: it needs a snapshot that was
 * taken after the lock.
 */
async function lockFirstBrandId(trx: Queryable, scope: AccountScope): Promise<number | null> {
  await trx.query('select 1 from accounts where id = $1 for no key update', [scope.accountId]);
  return findFirstBrandId(trx, scope);
}

/**
 * Completes the onboarding step `brand` when a brand is complete for the first time. The step stays completed.
 * @param trx the transaction that created or changed the brand
 */
async function markComplete(trx: Queryable, brand: BrandRow): Promise<void> {
  if (!isComplete(brand)) return;
  await trx.query(
    `update accounts
     set onboarding_state = onboarding_state || jsonb_build_object('brand', jsonb_build_object('completed_at', now()))
     where id = $1 and not onboarding_state ? 'brand'`,
    [brand.account_id],
  );
}
