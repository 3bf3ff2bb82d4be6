/** Reads a website: its page, its stylesheets and its logo. */
import type { z } from 'zod';
import type { Egress } from '../../../../platform/egress/client.ts';
import type { ScrapedField, ScrapeError } from '../fields.ts';
import { putBrandBody } from '../../schema.ts';
import type { FetchedSheet, PageFindings, Source } from '../page/jobs.ts';
import { MAX_LOGO_BYTES, type LogoImage } from '../page/logo-image.ts';
import type { PageReader, PageReaders } from '../page/reader.ts';
import type { ToneFinder } from './tone.ts';
import { openWebsite, type Website, WEBSITE_LIMITS, type WebsiteLimits } from './website.ts';

const MAX_PAGE_BYTES = 2 * 1024 * 1024;
const MAX_SHEET_BYTES = 2 * 1024 * 1024;
const MAX_SHEETS = 10;
const MAX_IMPORT_DEPTH = 4;
/** Time limit per stylesheet or image, so that one slow server delays neither the other stylesheets nor the logo. */
const PART_MS = 8_000;
/** The share of the time that fetching the stylesheets must leave for reading the page. */
const READING_SHARE = 1 / 3;
const DEFAULT_TEXT_COLOR = '#000000';

/** The values found, within the limits of the brand's fields. */
export type FoundValues = Partial<Record<Exclude<ScrapedField, 'logo'>, unknown>>;

export interface Found {
  values: FoundValues;
  logo: LogoImage | null;
}

export type ScrapeOutcome = Found | { error: ScrapeError };

export interface WebsiteScraperDeps {
  egress: Egress;
  readers: PageReaders;
  /** Null if no AI endpoint is configured: then no tone is found. */
  tone: ToneFinder | null;
  limits?: WebsiteLimits;
}

export interface WebsiteScraper {
  /**
   * Reads the website at a URL.
   * @throws ThreadUnavailableError; the reason of `signal`
   */
  scrape(target: { url: string; accountId: number }, signal: AbortSignal): Promise<ScrapeOutcome>;
}

/** One running scrape. */
interface Visit {
  website: Website;
  reader: PageReader;
  /** Time reserved for reading the page, in ms. */
  readingMs: number;
}

const HTML_TYPE = /^(?:text\/html|application\/xhtml\+xml)\b/i;
const HTML_START = /^(?:\ufeff|\s)*<(?:!doctype html|html|head|body|!--)/i;

function isHtml({ bytes, contentType }: Source): boolean {
  if (contentType !== null && contentType.trim() !== '') return HTML_TYPE.test(contentType.trim());
  return HTML_START.test(Buffer.from(bytes.subarray(0, 500)).toString('utf8'));
}

/**
 * Fetches the stylesheets of a page and those that they import, at most ten in all, while there is time. Fetches none
 * twice.
 */
async function fetchSheets({ website, reader, readingMs }: Visit, page: Source): Promise<FetchedSheet[]> {
  const seen = new Set<string>();

  async function fetchAll(addresses: readonly string[], depth: number): Promise<FetchedSheet[]> {
    const fetched: FetchedSheet[] = [];
    for (const address of addresses) {
      const leftMs = website.timeLeftMs() - readingMs;
      if (seen.size >= MAX_SHEETS || leftMs <= 0) break;
      if (seen.has(address)) continue;
      seen.add(address);
      const sheet = await website.fetch(address, {
        maxBytes: MAX_SHEET_BYTES,
        accept: 'text/css,*/*;q=0.1',
        maxMs: Math.min(PART_MS, leftMs),
      });
      if ('fault' in sheet || /html/i.test(sheet.contentType ?? '')) continue;
      const imports = depth < MAX_IMPORT_DEPTH ? await reader.read('imports', { sheet }) : null;
      fetched.push({ ...sheet, address, imported: await fetchAll(imports ?? [], depth + 1) });
    }
    return fetched;
  }

  return fetchAll((await reader.read('sheets', { page })) ?? [], 0);
}

/** Takes the likeliest image that can be fetched and that mail clients show. */
async function findLogo({ website, reader }: Visit, findings: PageFindings): Promise<LogoImage | null> {
  const color = findings.text_color ?? DEFAULT_TEXT_COLOR;
  for (const candidate of findings.logos) {
    if (website.timeLeftMs() <= 0) break;
    let source: { bytes: Uint8Array } | Exclude<typeof candidate, { url: string }>;
    if ('url' in candidate) {
      const accept = 'image/png,image/svg+xml,image/jpeg,image/webp,image/gif;q=0.9,image/*;q=0.5';
      const fetched = await website.fetch(candidate.url, {
        maxBytes: MAX_LOGO_BYTES + 1,
        accept,
        maxMs: PART_MS,
      });
      if ('fault' in fetched) continue;
      source = { bytes: fetched.bytes };
    } else source = candidate;
    const logo = await reader.read('logo', { logo: source, color });
    if (logo) return logo;
  }
  return null;
}

function isEmpty(value: unknown): boolean {
  return value === null || value === '' || (Array.isArray(value) && value.length === 0);
}

/** Keeps only values that a client could have sent. */
function validValues(values: Record<Exclude<ScrapedField, 'logo'>, unknown>): FoundValues {
  const kept: FoundValues = {};
  for (const [name, value] of Object.entries(values)) {
    const field = name as keyof FoundValues;
    if (isEmpty(value)) continue;
    const parsed = (putBrandBody.shape[field] as z.ZodType).safeParse(value);
    if (parsed.success) kept[field] = parsed.data;
  }
  return kept;
}

export function createWebsiteScraper(deps: WebsiteScraperDeps): WebsiteScraper {
  const { egress, readers, tone, limits = WEBSITE_LIMITS } = deps;

  async function visit(
    { url, accountId }: { url: string; accountId: number },
    at: Visit,
    { deadline, signal }: { deadline: AbortSignal; signal: AbortSignal },
  ): Promise<ScrapeOutcome> {
    const { website, reader } = at;
    const page = await website.fetch(url, {
      maxBytes: MAX_PAGE_BYTES,
      accept: 'text/html,application/xhtml+xml;q=0.9',
    });
    if ('fault' in page) return { error: page.fault };
    if (!isHtml(page)) return { error: 'not_html' };
    const findings = await reader.read('page', { page, sheets: await fetchSheets(at, page) });
    if (!findings) return { error: deadline.aborted ? 'timeout' : 'nothing_found' };
    const logo = await findLogo(at, findings);
    const { logos: _logos, ...values } = findings;
    const { company_name: name, company_description: description, example_copy: copy } = values;
    const found = tone === null ? null : await tone.find({ name, description, copy }, accountId, signal);
    signal.throwIfAborted();
    const valid = validValues({ ...values, tone: found });
    return logo === null && Object.keys(valid).length === 0
      ? { error: 'nothing_found' }
      : { values: valid, logo };
  }

  return {
    async scrape(target, signal) {
      const { totalMs } = limits;
      const ends = { deadline: AbortSignal.timeout(totalMs), signal };
      const reader = readers.open({ accountId: target.accountId, ...ends });
      try {
        const website = openWebsite({ egress, reader, limits, ...ends });
        return await visit(target, { website, reader, readingMs: totalMs * READING_SHARE }, ends);
      } finally {
        await reader.close();
      }
    },
  };
}
