/** What a scrape fills in, and how it may end. */
import type { BrandRow } from '../model.ts';

/** Fields of a brand that a scrape may find. */
export const scrapedFields = [
  'brand_color',
  'text_color',
  'bg_color',
  'font_heading',
  'font_body',
  'logo',
  'company_name',
  'company_description',
  'physical_address',
  'links',
  'example_copy',
  'tone',
] as const satisfies readonly (keyof BrandRow)[];

export type ScrapedField = (typeof scrapedFields)[number];

export const scrapeErrors = ['unreachable', 'not_html', 'timeout', 'robots', 'nothing_found'] as const;

export type ScrapeError = (typeof scrapeErrors)[number];
