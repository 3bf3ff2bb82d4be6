/** Accepts scrapes. */
import { invalid, notFound, tooMany } from '../../../errors.ts';
import type { BrandScope } from '../../../platform/db/model.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { Egress } from '../../../platform/egress/client.ts';
import type { RefusalReason } from '../../../platform/egress/problem.ts';
import { appendToOutbox } from '../../../platform/outbox/append.ts';
import { scrapedFields } from './fields.ts';
import { insertScrape, lockBrand, lockScrapes, secondsUntilAllowed } from './model.ts';
import { scrapeWake } from './workflow.ts';

const PER_BRAND = 10;
/** Limit for all brands of an account together. */
const PER_ACCOUNT = 30;

/**
 * Messages that depend only on the text of the URL. All other refusals get one message, which reveals nothing about
 * networks.
 */
const MESSAGES: Partial<Record<RefusalReason, string>> = {
  invalid_url: 'is not a valid URL',
  scheme: 'must begin with https:// or http://',
  credentials: 'must not contain a user name or password',
};
const NOT_PUBLIC = 'must be the URL of a public website on port 80 or 443';

const SCHEME = /^[a-z][a-z0-9+.-]*:\/\//i;

/**
 * Completes a URL: a bare domain gets https.
 * @returns the URL without its fragment
 * @throws AppError validation_error if it is not the URL of a public website
 */
export async function requireWebsite(websites: Egress, given: string): Promise<string> {
  const text = given.trim();
  const url = URL.parse(SCHEME.test(text) ? text : `https://${text}`);
  if (!url) throw invalid({ url: ['is not a valid URL'] });
  url.hash = '';
  const verdict = await websites.checkUrl(url.href, { web: true });
  if (!verdict.ok) throw invalid({ url: [MESSAGES[verdict.reason] ?? NOT_PUBLIC] });
  return url.href;
}

/** @throws AppError rate_limited */
async function requireFew(trx: Queryable, { accountId, brandId }: BrandScope): Promise<void> {
  const limits = [
    { owner: 'brand', id: brandId, perHour: PER_BRAND, rule: 'a brand may be scraped' },
    { owner: 'account', id: accountId, perHour: PER_ACCOUNT, rule: 'an account may scrape websites' },
  ] as const;
  for (const { rule, ...limit } of limits) {
    const seconds = await secondsUntilAllowed(trx, limit);
    if (seconds === null) continue;
    throw tooMany(`${rule} ${limit.perHour} times an hour`, seconds);
  }
}

/**
 * Starts a scrape, which replaces a running one. Wake `outbox` after the commit.
 * @param url from {@link requireWebsite}
 * @returns the id of the scrape
 * @throws AppError rate_limited after 10 scrapes of the brand, or 30 of the account, in an hour; not_found
 */
export async function startScrape(
  trx: Queryable,
  scope: BrandScope,
  { url, overwrite }: { url: string; overwrite: boolean },
): Promise<number> {
  await lockScrapes(trx, scope.accountId);
  const brand = await lockBrand(trx, scope);
  if (!brand) throw notFound('brand');
  await requireFew(trx, scope);
  const before = Object.fromEntries(scrapedFields.map((field) => [field, brand[field]]));
  const id = await insertScrape(trx, scope, { url, overwrite, before });
  await appendToOutbox(trx, scrapeWake({ id, ...scope }));
  return id;
}
