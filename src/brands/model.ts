/** A row of `brands`. */
export interface BrandRow {
  id: number;
  account_id: number;
  brand_color: string | null;
  text_color: string | null;
  bg_color: string | null;
  font_heading: string | null;
  font_body: string | null;
  style_notes: string | null;
  tone: string | null;
  company_description: string | null;
  industry: string | null;
  physical_address: string | null;
  company_name: string | null;
  source_url: string | null;
  example_copy: string[] | null;
  default_header: Record<string, unknown>;
  default_footer: Record<string, unknown>;
  default_theme: Record<string, unknown>;
  links: { url: string; icon: string; title: string }[];
  logo: string | null;
  track_opens: boolean;
  track_clicks: boolean;
  last_scraped_at: Date | null;
  created_at: Date;
  updated_at: Date;
}

/** A brand that may send campaigns: it has a colour and a name (interface section 2). */
export function isComplete(brand: Pick<BrandRow, 'brand_color' | 'company_name'>): boolean {
  return (brand.brand_color ?? '') !== '' && (brand.company_name ?? '') !== '';
}
