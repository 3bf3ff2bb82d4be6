import { fn, type PartialModelObject } from 'objection';
import type pg from 'pg';
import { invalid } from '../../errors.ts';
import type { AccountTenant } from '../../platform/auth/tenant.ts';
import { type Queryable, inTransaction } from '../../platform/db/queryable.ts';
import { uploadUrl, type ImageReferences } from '../uploads/service.ts';
import { isComplete, type BrandRow, BrandModel } from './model.ts';
import { presentBrand } from './presenter.ts';
import { isLogoUrl, type Brand, type PutBrandBody } from './schema.ts';

/**
 * The onboarding step `brand` is done once and for all when a brand is first complete.
 * @param trx the transaction that made or changed the brand
 */
export async function markComplete(trx: Queryable, brand: BrandRow): Promise<void> {
  if (!isComplete(brand)) return;
  await trx.query(
    `update accounts
     set onboarding_state = onboarding_state || jsonb_build_object('brand', jsonb_build_object('completed_at', now()))
     where id = $1 and not onboarding_state ? 'brand'`,
    [brand.account_id],
  );
}

export interface NewBrand {
  accountId: number;
  companyName: string;
  /** `#` and six hexadecimal digits; a brand is complete with a colour and a name. */
  brandColor?: string;
  /** Campaigns need it in their footer. */
  physicalAddress?: string;
}

/** @returns the new brand's id */
export async function createBrand(db: Queryable, input: NewBrand): Promise<number> {
  const brand = await BrandModel.on(db)
    .insert({
      account_id: input.accountId,
      company_name: input.companyName,
      brand_color: input.brandColor,
      physical_address: input.physicalAddress,
    })
    .returning(BrandModel.columns)
    .execute();
  await markComplete(db, brand);
  return brand.id;
}

/** What PUT changes; `undefined` leaves a column as it is, and null, where the body takes it, empties it. */
type Changes = PartialModelObject<BrandModel>;

function insertBrand(trx: Queryable, accountId: number, changes: Changes): Promise<BrandRow> {
  return BrandModel.on(trx)
    .insert({ ...changes, account_id: accountId })
    .returning(BrandModel.columns)
    .execute();
}

async function updateBrand(
  trx: Queryable,
  accountId: number,
  brandId: number,
  changes: Changes,
): Promise<BrandRow> {
  const [brand] = await BrandModel.ofAccount({ accountId }, trx)
    .where('id', brandId)
    .patch({ ...changes, updated_at: fn.now() })
    .returning(BrandModel.columns);
  return brand as BrandRow;
}

/**
 * The account's first brand, for one who knows of none. Of two first PUTs at once the second waits here, and sees
 * what the first made: the look-up must be a statement of its own, begun under the lock.
 */
async function lockedFirstBrand(trx: Queryable, accountId: number): Promise<number | null> {
  await trx.query('select 1 from accounts where id = $1 for no key update', [accountId]);
  const { rows } = await trx.query<{ id: number | null }>(
    'select min(id) as id from brands where account_id = $1',
    [accountId],
  );
  return rows[0]?.id ?? null;
}

export interface BrandService {
  /** @returns null where the tenant has no brand yet */
  find(tenant: AccountTenant): Promise<BrandRow | null>;
  /**
   * Change the tenant's brand, or make the account's first.
   * @throws AppError validation_error where `logo` is neither a URL nor an uploaded image of the account
   */
  put(tenant: AccountTenant, body: PutBrandBody): Promise<BrandRow>;
}

export function createBrandService(deps: { pool: pg.Pool; images: ImageReferences }): BrandService {
  const { pool, images } = deps;

  async function logoOf(tenant: AccountTenant, body: PutBrandBody): Promise<string | null | undefined> {
    const { logo } = body;
    if (logo === undefined || logo === null) return logo;
    // What GET shows of an upload is its address; sent back, that is still the upload.
    const reference = await images.accept(tenant.accountId, logo.slice(logo.lastIndexOf('/') + 1));
    if (!reference && isLogoUrl(logo)) return logo;
    if (!reference) throw invalid({ logo: ['must be a URL or the signed_id of an uploaded image'] });
    return reference;
  }

  return {
    find: async (tenant) =>
      tenant.brandId === null ? null : BrandModel.findInAccount(tenant, tenant.brandId, pool),
    async put(tenant, body) {
      const changes = { ...body, logo: await logoOf(tenant, body) };
      return inTransaction(pool, async (trx) => {
        const brandId = tenant.brandId ?? (await lockedFirstBrand(trx, tenant.accountId));
        const brand =
          brandId === null
            ? await insertBrand(trx, tenant.accountId, changes)
            : await updateBrand(trx, tenant.accountId, brandId, changes);
        await markComplete(trx, brand);
        return brand;
      });
    },
  };
}

/** Presents brands to clients. An uploaded logo becomes an address below `publicUrl`, the service's base address. */
export function createBrandPresenter(images: ImageReferences): (row: BrandRow, publicUrl: string) => Brand {
  return (row, publicUrl) =>
    presentBrand(row, (accountId, reference) => {
      const signedId = images.show(accountId, reference);
      return signedId === null ? null : uploadUrl(publicUrl, signedId);
    });
}
