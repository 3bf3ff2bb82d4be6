/** Carries out a scrape and writes what it found into the brand. */
import { buffer } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import type pg from 'pg';
import { AppError } from '../../../errors.ts';
import type { BrandScope } from '../../../platform/db/model.ts';
import { inTransaction, type Queryable } from '../../../platform/db/queryable.ts';
import type { Uploads } from '../../uploads/service.ts';
import { type BrandChanges, type BrandRow, completeBrandStep, updateBrand } from '../model.ts';
import { type ScrapedField, scrapedFields } from './fields.ts';
import { endScrape, findUnfinished, lockBrand, rememberScraped, type ScrapeRow } from './model.ts';
import type { LogoImage } from './page/logo-image.ts';
import type { Found, WebsiteScraper } from './website/scrape.ts';

export interface ScrapeRunDeps {
  pool: pg.Pool;
  scraper: WebsiteScraper;
  uploads: Uploads;
}

type Values = Partial<Record<ScrapedField, unknown>>;

/** A row of `brands` as plain SQL returns it. */
type BrandValues = Record<string, unknown> & { scraped?: Values };

function isEmpty(value: unknown): boolean {
  return value === null || value === '' || (Array.isArray(value) && value.length === 0);
}

/**
 * Whether a scrape may write a field: the field is empty, an earlier scrape wrote it, or the scrape overwrites and
 * the field was not edited since it began.
 */
function mayWrite(field: ScrapedField, brand: BrandValues, { overwrite, before }: ScrapeRow): boolean {
  const current = brand[field];
  if (isEmpty(current) || isDeepStrictEqual(current, brand.scraped?.[field])) return true;
  return overwrite && isDeepStrictEqual(current, before[field]);
}

type StoredLogo = Awaited<ReturnType<Uploads['store']>>;

const UPLOAD = /^upload:(\d+)$/;

/** @returns the brand's own reference to an upload with the same content, so that mail that shows it stays unchanged */
async function sameLogo(
  uploads: Uploads,
  accountId: number,
  current: unknown,
  { bytes }: LogoImage,
): Promise<string | null> {
  const id = UPLOAD.exec(typeof current === 'string' ? current : '')?.[1];
  const upload = id === undefined ? null : await uploads.find(accountId, Number(id));
  if (!upload || upload.size !== bytes.length) return null;
  const blob = await uploads.open(upload);
  return blob && Buffer.compare(await buffer(blob.stream), bytes) === 0 ? `upload:${upload.id}` : null;
}

/**
 * Inserts the row of a stored logo.
 * @returns its reference; null if it would exceed the account's limit for uploads
 */
async function addLogo(
  trx: Queryable,
  uploads: Uploads,
  scope: BrandScope,
  stored: StoredLogo,
): Promise<string | null> {
  try {
    return `upload:${(await uploads.add(trx, scope, stored)).id}`;
  } catch (error) {
    if (error instanceof AppError) return null;
    throw error;
  }
}

/** A logo that has no row yet: newly stored content, or a reference that the brand already has. */
type NewLogo = { stored: StoredLogo } | { reference: string } | null;

/**
 * Writes what a scrape found, in one update of the brand.
 * @returns whether the brand uses the stored logo
 */
async function writeFindings(
  trx: Queryable,
  uploads: Uploads,
  scrape: ScrapeRow,
  { values, logo }: { values: Found['values']; logo: NewLogo },
): Promise<boolean> {
  const scope = { accountId: scrape.account_id, brandId: scrape.brand_id };
  const brand: BrandValues | null = await lockBrand(trx, scope);
  const found: Values =
    logo === null ? { ...values } : { ...values, logo: 'reference' in logo ? logo.reference : null };
  const fieldsFound = scrapedFields.filter((field) => Object.hasOwn(found, field));
  if (!brand || !(await endScrape(trx, scrape.id, { fieldsFound }))) return false;
  const written: Values = {};
  for (const field of fieldsFound) if (mayWrite(field, brand, scrape)) written[field] = found[field];
  let used = false;
  if (logo && 'stored' in logo && 'logo' in written) {
    written.logo = await addLogo(trx, uploads, scope, logo.stored);
    used = written.logo !== null;
    if (!used) delete written.logo;
  }
  await rememberScraped(trx, scope, { url: scrape.url, written });
  await completeBrandStep(
    trx,
    await updateBrand(trx, scope, brand as BrandValues & BrandRow, written as BrandChanges),
  );
  return used;
}

/** Stores the logo before the transaction, and removes it afterwards if the brand does not use it. */
async function store({ pool, uploads }: ScrapeRunDeps, scrape: ScrapeRow, found: Found): Promise<void> {
  const scope = { accountId: scrape.account_id };
  let logo: NewLogo = null;
  if (found.logo) {
    const reference = await sameLogo(uploads, scope.accountId, scrape.before.logo, found.logo);
    if (reference) logo = { reference };
    else {
      const file = { filename: `logo.${found.logo.extension}`, bytes: Buffer.from(found.logo.bytes) };
      logo = { stored: await uploads.store(scope, file) };
    }
  }
  let used = false;
  try {
    used = await inTransaction(pool, (trx) =>
      writeFindings(trx, uploads, scrape, { values: found.values, logo }),
    );
  } finally {
    if (!used && logo && 'stored' in logo) await uploads.discard(logo.stored);
  }
}

/**
 * Carries out a scrape. If the scrape has ended, or a newer one has replaced it, nothing happens.
 * @throws the reason of `signal`; ThreadUnavailableError; errors of the database. After any of these, the scrape can be
 *   carried out again
 */
export async function runScrape(deps: ScrapeRunDeps, id: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const scrape = await findUnfinished(deps.pool, id);
  if (!scrape) return;
  const outcome = await deps.scraper.scrape({ url: scrape.url, accountId: scrape.account_id }, signal);
  if ('error' in outcome) await endScrape(deps.pool, id, outcome);
  else await store(deps, scrape, outcome);
}
