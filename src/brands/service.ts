import type pg from 'pg';
import { inTransaction, type Queryable } from '../db/queryable.ts';
import { invalid } from '../errors.ts';
import type { AccountTenant } from '../auth/tenant.ts';
import type { ImageReferences } from '../storage/image-reference.ts';
import type { BrandRow } from './model.ts';
import { isComplete } from './model.ts';
import { isLogoUrl, type PutBrandBody } from './schema.ts';

export { createBrand, type NewBrand } from './create-brand.ts';

const COLUMNS = `id, account_id, brand_color, text_color, bg_color, font_heading, font_body, style_notes, tone,
  company_description, industry, physical_address, company_name, source_url, example_copy, default_header,
  default_footer, default_theme, links, logo, track_opens, track_clicks, last_scraped_at, created_at, updated_at`;

/** Columns of type jsonb; the driver would send their arrays as PostgreSQL arrays. */
const JSON_COLUMNS = new Set(['links', 'default_header', 'default_footer', 'default_theme']);

/** @returns null where the tenant has no brand yet */
export async function findBrand(
  db: Queryable,
  tenant: Pick<AccountTenant, 'accountId' | 'brandId'>,
): Promise<BrandRow | null> {
  const { rows } = await db.query<BrandRow>(
    `select ${COLUMNS} from brands where account_id = $1 and id = $2`,
    [tenant.accountId, tenant.brandId],
  );
  return rows[0] ?? null;
}

type Changes = Record<string, unknown>;

function changesOf(body: PutBrandBody, logo: string | null | undefined): Changes {
  const given = Object.entries({ ...body, logo }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    given.map(([name, value]) => [name, JSON_COLUMNS.has(name) ? JSON.stringify(value) : value]),
  );
}

async function insertBrand(trx: Queryable, accountId: number, changes: Changes): Promise<BrandRow> {
  const names = Object.keys(changes);
  const { rows } = await trx.query<BrandRow>(
    `insert into brands (account_id${names.map((name) => `, ${name}`).join('')})
     values ($1${names.map((_, index) => `, $${index + 2}`).join('')}) returning ${COLUMNS}`,
    [accountId, ...Object.values(changes)],
  );
  return rows[0] as BrandRow;
}

async function updateBrand(
  trx: Queryable,
  accountId: number,
  brandId: number,
  changes: Changes,
): Promise<BrandRow> {
  const set = Object.keys(changes).map((name, index) => `${name} = $${index + 3}, `);
  const { rows } = await trx.query<BrandRow>(
    `update brands set ${set.join('')}updated_at = now() where account_id = $1 and id = $2 returning ${COLUMNS}`,
    [accountId, brandId, ...Object.values(changes)],
  );
  return rows[0] as BrandRow;
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

/** The onboarding step `brand` is done once and for all when a brand is first complete. */
async function markComplete(trx: Queryable, brand: BrandRow): Promise<void> {
  if (!isComplete(brand)) return;
  await trx.query(
    `update accounts
     set onboarding_state = onboarding_state || jsonb_build_object('brand', jsonb_build_object('completed_at', now()))
     where id = $1 and not onboarding_state ? 'brand'`,
    [brand.account_id],
  );
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
    find: (tenant) => findBrand(pool, tenant),
    async put(tenant, body) {
      const changes = changesOf(body, await logoOf(tenant, body));
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
