/** The scrapes of websites for one brand. This file imports nothing. */
export const scrapeBrandType = 'scrapeBrand';

export interface ScrapeBrandInput {
  schema: 1;
  brandId: number;
  accountId: number;
}

export function scrapeWorkflowId(brandId: number): string {
  return `brand-scrape/${brandId}`;
}

/** Signals. */
export const scrapeSignals = {
  /** There is a new scrape of the brand; its argument is the scrape's id. */
  scrape: 'scrape',
} as const;

/** Queries. */
export const scrapeQueries = { state: 'state' } as const;

/** What the workflow does, as the query and the current details show it. */
export interface ScrapeState {
  phase: 'looking' | 'scraping' | 'failing' | 'done';
  /** The current scrape, or the last one. */
  scrapeId: number | null;
  /** Number of scrapes in this run of the workflow that were replaced by a newer one. */
  replaced: number;
}

export interface ScrapeActivities {
  /** Finds the scrape of the brand that has not ended. @returns its id; null if all have ended */
  nextBrandScrape(brandId: number): Promise<number | null>;
  /** Reads the website and updates the brand, unless a newer scrape has replaced this one. */
  runBrandScrape(scrapeId: number): Promise<void>;
  /** Marks a scrape as failed that could not be carried out. */
  failBrandScrape(scrapeId: number): Promise<void>;
}
