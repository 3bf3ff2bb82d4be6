/** Rows of `brand_scrapes`. */
import { type ModelObject, type PartialModelObject, raw } from 'objection';
import { type BrandScope, TenantModel } from '../../../platform/db/model.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { ScrapedField, ScrapeError } from './fields.ts';

class ScrapeModel extends TenantModel {
  static override readonly tableName = 'brand_scrapes';
  static override readonly columns = [
    'id',
    'account_id',
    'brand_id',
    'url',
    'overwrite',
    'status',
    'fields_found',
    'error',
    'before',
    'started_at',
    'finished_at',
  ];
  static override readonly jsonColumns = ['before'];

  declare account_id: number;
  declare brand_id: number;
  declare url: string;
  declare overwrite: boolean;
  declare status: 'scraping' | 'completed' | 'failed' | 'discarded';
  declare fields_found: ScrapedField[];
  declare error: ScrapeError | null;
  /** The brand's values when the scrape began. */
  declare before: Partial<Record<ScrapedField, unknown>>;
  declare engine_expected_by: Date | null;
  declare started_at: Date;
  declare finished_at: Date | null;
}
export type ScrapeRow = Omit<ModelObject<ScrapeModel>, 'engine_expected_by'>;

const COLUMNS = ScrapeModel.columns.join(', ');

/** @returns null if the brand was never scraped */
export async function findLatestScrape(db: Queryable, brandId: number): Promise<ScrapeRow | null> {
  const { rows } = await db.query<ScrapeRow>({
    name: 'latest_brand_scrape',
    text: `select ${COLUMNS} from brand_scrapes where brand_id = $1 order by id desc limit 1`,
    values: [brandId],
  });
  return rows[0] ?? null;
}

/** @returns the latest scrape of each brand that was ever scraped */
export async function findLatestScrapes(db: Queryable, brandIds: readonly number[]): Promise<ScrapeRow[]> {
  const { rows } = await db.query<ScrapeRow>(
    `select distinct on (brand_id) ${COLUMNS} from brand_scrapes where brand_id = any ($1) order by brand_id, id desc`,
    [brandIds],
  );
  return rows;
}

/** @returns null if the brand has no such scrape */
export function findScrape(db: Queryable, scope: BrandScope, id: number): Promise<ScrapeRow | null> {
  return ScrapeModel.findInBrand(db, scope, id);
}

/**
 * Finds an unfinished scrape.
 * @returns null if it has ended, or a newer one has replaced it
 */
export async function findUnfinished(db: Queryable, id: number): Promise<ScrapeRow | null> {
  const [row] = await ScrapeModel.on(db).where({ id, status: 'scraping' }).select(ScrapeModel.columns);
  return row ?? null;
}

/**
 * How long a scrape may go without a sign of its workflow before the reconciler checks it. By then, the workflow has
 * passed the scrape of a dead process to another.
 */
const NEXT_STEP = `interval '10 minutes'`;

/**
 * Finds the brand's unfinished scrape.
 * @returns its id; null if all have ended
 */
export async function takeNextScrape(db: Queryable, brandId: number): Promise<number | null> {
  const { rows } = await db.query<{ id: number }>(
    `update brand_scrapes set engine_expected_by = now() + ${NEXT_STEP}
     where id = (select max(id) from brand_scrapes where brand_id = $1 and status = 'scraping')
     returning id`,
    [brandId],
  );
  return rows[0]?.id ?? null;
}

/**
 * Locks the brand, so that its scrapes begin and end one after another.
 * @returns null if the account has no such brand
 */
export async function lockBrand(
  trx: Queryable,
  { accountId, brandId }: BrandScope,
): Promise<Record<string, unknown> | null> {
  const { rows } = await trx.query(
    'select * from brands where id = $1 and account_id = $2 for no key update',
    [brandId, accountId],
  );
  return rows[0] ?? null;
}

/** Serializes the scrapes of one account until the transaction commits, so that each one is counted. */
export async function lockScrapes(trx: Queryable, accountId: number): Promise<void> {
  await trx.query(`select pg_advisory_xact_lock(hashtextextended('scrapes ' || $1::text, 0))`, [accountId]);
}

/** Seconds until another scrape of the brand or account may begin; null if one may now. */
export async function secondsUntilAllowed(
  trx: Queryable,
  { owner, id, perHour }: { owner: 'brand' | 'account'; id: number; perHour: number },
): Promise<number | null> {
  const { rows } = await trx.query<{ seconds: number }>(
    `select greatest(1, ceil(extract(epoch from started_at + interval '1 hour' - clock_timestamp())))::int as seconds
     from brand_scrapes where ${owner}_id = $1 and started_at > clock_timestamp() - interval '1 hour'
     order by id desc offset $2 limit 1`,
    [id, perHour - 1],
  );
  return rows[0]?.seconds ?? null;
}

/** What every end of a scrape sets. Scrapes end after long work, so the time is not that of their transaction. */
const ended = () => ({ finished_at: raw('clock_timestamp()'), engine_expected_by: null });

/** Replaces the brand's unfinished scrapes with a new one. */
export async function insertScrape(
  trx: Queryable,
  scope: BrandScope,
  scrape: Pick<ScrapeRow, 'url' | 'overwrite' | 'before'>,
): Promise<number> {
  await ScrapeModel.ofBrand(trx, scope)
    .where('status', 'scraping')
    .patch({ status: 'discarded', ...ended() });
  const { id } = await ScrapeModel.on(trx)
    .insert({
      ...{ account_id: scope.accountId, brand_id: scope.brandId },
      ...scrape,
      engine_expected_by: raw(`now() + interval '1 minute'`),
    })
    .returning('id');
  return id;
}

/**
 * Ends a scrape.
 * @returns false if it has already ended, or a newer one has replaced it
 */
export async function endScrape(
  db: Queryable,
  id: number,
  end: { fieldsFound: readonly ScrapedField[] } | { error: ScrapeError },
): Promise<boolean> {
  const outcome =
    'error' in end
      ? ({ status: 'failed', fields_found: [], error: end.error } as const)
      : ({ status: 'completed', fields_found: [...end.fieldsFound], error: null } as const);
  const changed = await ScrapeModel.on(db)
    .where({ id, status: 'scraping' })
    .patch({ ...outcome, ...ended() } as PartialModelObject<ScrapeModel>);
  return changed === 1;
}

/** Records what a scrape has written, and its source. */
export async function rememberScraped(
  trx: Queryable,
  { accountId, brandId }: BrandScope,
  { url, written }: { url: string; written: Partial<Record<ScrapedField, unknown>> },
): Promise<void> {
  await trx.query(
    `update brands set source_url = $3, last_scraped_at = now(), scraped = scraped || $4
     where id = $1 and account_id = $2`,
    [brandId, accountId, url, JSON.stringify(written)],
  );
}
