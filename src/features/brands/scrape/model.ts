/** Rows of `brand_scrapes`. */
import type { BrandScope } from '../../../platform/db/model.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { ScrapedField, ScrapeError } from './fields.ts';

export interface ScrapeRow {
  id: number;
  account_id: number;
  brand_id: number;
  url: string;
  overwrite: boolean;
  status: 'scraping' | 'completed' | 'failed' | 'discarded';
  fields_found: ScrapedField[];
  error: ScrapeError | null;
  /** The brand's values when the scrape began. */
  before: Partial<Record<ScrapedField, unknown>>;
  started_at: Date;
  finished_at: Date | null;
}

const COLUMNS =
  'id, account_id, brand_id, url, overwrite, status, fields_found, error, before, started_at, finished_at';

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
export async function findScrape(
  db: Queryable,
  { accountId, brandId }: BrandScope,
  id: number,
): Promise<ScrapeRow | null> {
  const { rows } = await db.query<ScrapeRow>(
    `select ${COLUMNS} from brand_scrapes where id = $1 and account_id = $2 and brand_id = $3`,
    [id, accountId, brandId],
  );
  return rows[0] ?? null;
}

/**
 * Finds an unfinished scrape.
 * @returns null if it has ended, or a newer one has replaced it
 */
export async function findUnfinished(db: Queryable, id: number): Promise<ScrapeRow | null> {
  const { rows } = await db.query<ScrapeRow>(
    `select ${COLUMNS} from brand_scrapes where id = $1 and status = 'scraping'`,
    [id],
  );
  return rows[0] ?? null;
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

/** Replaces the brand's unfinished scrapes with a new one. */
export async function insertScrape(
  trx: Queryable,
  { accountId, brandId }: BrandScope,
  scrape: Pick<ScrapeRow, 'url' | 'overwrite' | 'before'>,
): Promise<number> {
  await trx.query(
    `update brand_scrapes set status = 'discarded', finished_at = clock_timestamp(), engine_expected_by = null
     where brand_id = $1 and status = 'scraping'`,
    [brandId],
  );
  const { rows } = await trx.query<{ id: number }>(
    `insert into brand_scrapes (account_id, brand_id, url, overwrite, before, engine_expected_by)
     values ($1, $2, $3, $4, $5, now() + interval '1 minute') returning id`,
    [accountId, brandId, scrape.url, scrape.overwrite, JSON.stringify(scrape.before)],
  );
  return rows[0]?.id ?? 0;
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
  const [status, fields, error] =
    'error' in end ? ['failed', [], end.error] : ['completed', end.fieldsFound, null];
  const { rowCount } = await db.query(
    `update brand_scrapes
     set status = $2, fields_found = $3, error = $4, finished_at = clock_timestamp(), engine_expected_by = null
     where id = $1 and status = 'scraping'`,
    [id, status, fields, error],
  );
  return rowCount === 1;
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
