import { fn, type ModelObject, type PartialModelObject } from 'objection';
import { TenantModel, type AccountScope } from '../../platform/db/model.ts';
import { countRows, type Page, type RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { changedValues, raisedRevision } from '../../platform/db/revisions.ts';

export class BrandModel extends TenantModel {
  static override readonly tableName = 'brands';
  static override readonly jsonColumns = [
    'links',
    'default_header',
    'default_footer',
    'default_theme',
    'quiet_hours',
    'frequency_cap',
  ];
  static override readonly columns = [
    'id',
    'account_id',
    'brand_color',
    'text_color',
    'bg_color',
    'font_heading',
    'font_body',
    'style_notes',
    'tone',
    'company_description',
    'industry',
    'physical_address',
    'company_name',
    'source_url',
    'example_copy',
    'default_header',
    'default_footer',
    'default_theme',
    'links',
    'logo',
    'track_opens',
    'track_clicks',
    'timezone',
    'quiet_hours',
    'frequency_cap',
    'sms_stop_text',
    'last_scraped_at',
    'revision',
    'created_at',
    'updated_at',
  ];

  declare account_id: number;
  declare brand_color: string | null;
  declare text_color: string | null;
  declare bg_color: string | null;
  declare font_heading: string | null;
  declare font_body: string | null;
  declare style_notes: string | null;
  declare tone: string | null;
  declare company_description: string | null;
  declare industry: string | null;
  declare physical_address: string | null;
  declare company_name: string | null;
  declare source_url: string | null;
  declare example_copy: string[] | null;
  declare default_header: Record<string, unknown>;
  declare default_footer: Record<string, unknown>;
  declare default_theme: Record<string, unknown>;
  declare links: { url: string; icon: string; title: string }[];
  declare logo: string | null;
  declare track_opens: boolean;
  declare track_clicks: boolean;
  /** An IANA time zone name. */
  declare timezone: string | null;
  declare quiet_hours: { start: string; end: string; timezone: string } | null;
  declare frequency_cap: { count: number; per_seconds: number } | null;
  declare sms_stop_text: string | null;
  declare last_scraped_at: Date | null;
  declare revision: number;
  declare created_at: Date;
  declare updated_at: Date;
}

/** A row of `brands`. */
export type BrandRow = ModelObject<BrandModel>;

/** Columns to write. `undefined` leaves a column unchanged, or gives a new row the column's default. */
export type BrandChanges = PartialModelObject<BrandModel>;

/** Whether the brand may send campaigns: it has a color and a name (interface section 2). */
export function isComplete(brand: Pick<BrandRow, 'brand_color' | 'company_name'>): boolean {
  return (brand.brand_color ?? '') !== '' && (brand.company_name ?? '') !== '';
}

/**
 * Completes the onboarding step `brand` when a brand is complete for the first time. The step stays completed.
 * @param trx the transaction that created or changed the brand
 */
export async function completeBrandStep(trx: Queryable, brand: BrandRow): Promise<void> {
  if (!isComplete(brand)) return;
  await trx.query(
    `update accounts
     set onboarding_state = onboarding_state || jsonb_build_object('brand', jsonb_build_object('completed_at', now()))
     where id = $1 and not onboarding_state ? 'brand'`,
    [brand.account_id],
  );
}

/** @returns null if the account has no such brand */
export function findBrand(db: Queryable, scope: AccountScope, id: number): Promise<BrandRow | null> {
  return BrandModel.findInAccount(db, scope, id);
}

/** @returns the id of the account's oldest brand; null if the account has none */
export async function findFirstBrandId(db: Queryable, scope: AccountScope): Promise<number | null> {
  const [brand] = await BrandModel.ofAccount(db, scope).orderBy('id').limit(1).select('id');
  return brand?.id ?? null;
}

/** Newest first. */
export async function findBrands(db: Queryable, scope: AccountScope, page: Page): Promise<BrandRow[]> {
  const query = BrandModel.ofAccount(db, scope).select(BrandModel.columns).orderBy('id', 'desc');
  if (page.after !== null) void query.where('id', '<', page.after);
  return query.limit(page.limit).offset(page.offset);
}

export function countBrands(db: Queryable, { accountId }: AccountScope): Promise<RowCount> {
  return countRows(db, 'brands where account_id = $1', [accountId]);
}

/** Inserts a brand of the account. */
export function insertBrand(db: Queryable, scope: AccountScope, changes: BrandChanges): Promise<BrandRow> {
  return BrandModel.on(db)
    .insert({ ...changes, account_id: scope.accountId })
    .returning(BrandModel.columns)
    .execute();
}

/** Locks a brand until the transaction ends. @returns null if the account has no such brand */
export async function lockBrandRow(
  trx: Queryable,
  scope: AccountScope,
  id: number,
): Promise<BrandRow | null> {
  const [brand] = await BrandModel.ofAccount(trx, scope)
    .where('id', id)
    .select(BrandModel.columns)
    .forNoKeyUpdate();
  return brand ?? null;
}

/** Changes a locked brand, unless the values are its own. */
export async function updateBrand(
  trx: Queryable,
  scope: AccountScope,
  row: BrandRow,
  values: BrandChanges,
): Promise<BrandRow> {
  const changes = changedValues(row, values as Partial<BrandRow>);
  if (!changes) return row;
  const [brand] = await BrandModel.ofAccount(trx, scope)
    .where('id', row.id)
    .patch({ ...changes, ...raisedRevision(), updated_at: fn.now() })
    .returning(BrandModel.columns);
  return brand as BrandRow;
}
