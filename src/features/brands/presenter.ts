import { isComplete, type BrandRow } from './model.ts';
import { isLogoUrl, type Brand, type BrandScrape } from './schema.ts';
import type { ScrapeRow } from './scrape/model.ts';

/** A brand with its latest scrape. */
export interface ShownBrand {
  row: BrandRow;
  scrape: ScrapeRow | null;
}

/** Presents the latest scrape. It cannot have been replaced by a newer one. */
function presentScrape({
  status,
  url,
  fields_found,
  error,
  started_at,
  finished_at,
}: ScrapeRow): BrandScrape {
  return {
    status: status === 'discarded' ? 'failed' : status,
    url,
    fields_found,
    error,
    started_at: started_at.toISOString(),
    finished_at: finished_at?.toISOString() ?? null,
  };
}

/**
 * Presents a brand to clients.
 * @param logoUrl returns the URL of an uploaded image, given the reference stored in the row
 */
export function presentBrand(
  { row, scrape }: ShownBrand,
  logoUrl: (accountId: number, reference: string) => string | null,
): Brand {
  return {
    id: row.id,
    account_id: row.account_id,
    brand_color: row.brand_color,
    text_color: row.text_color,
    bg_color: row.bg_color,
    font_heading: row.font_heading,
    font_body: row.font_body,
    style_notes: row.style_notes,
    tone: row.tone,
    company_description: row.company_description,
    industry: row.industry,
    physical_address: row.physical_address,
    company_name: row.company_name,
    source_url: row.source_url,
    example_copy: row.example_copy,
    default_header: row.default_header,
    default_footer: row.default_footer,
    default_theme: row.default_theme,
    last_scraped_at: row.last_scraped_at?.toISOString() ?? null,
    links: row.links.map(({ url, icon, title }) => ({ url, icon, title })),
    logo: row.logo === null || isLogoUrl(row.logo) ? row.logo : logoUrl(row.account_id, row.logo),
    track_opens: row.track_opens,
    track_clicks: row.track_clicks,
    timezone: row.timezone,
    quiet_hours: row.quiet_hours,
    frequency_cap: row.frequency_cap,
    sms_stop_text: row.sms_stop_text,
    scrape: scrape && presentScrape(scrape),
    complete: isComplete(row),
    revision: row.revision,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
