import type { ModelObject } from 'objection';
import { TenantModel } from '../../platform/db/model.ts';

export class BrandModel extends TenantModel {
  static override readonly tableName = 'brands';
  static override readonly jsonProperties = ['links', 'default_header', 'default_footer', 'default_theme'];
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
    'last_scraped_at',
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
  declare last_scraped_at: Date | null;
  declare created_at: Date;
  declare updated_at: Date;
}

/** A row of `brands`. */
export type BrandRow = ModelObject<BrandModel>;

/** A brand that may send campaigns: it has a colour and a name (interface section 2). */
export function isComplete(brand: Pick<BrandRow, 'brand_color' | 'company_name'>): boolean {
  return (brand.brand_color ?? '') !== '' && (brand.company_name ?? '') !== '';
}
