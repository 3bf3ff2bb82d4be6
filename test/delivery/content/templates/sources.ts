/** Brands, contents and values for tests of contents. */
import type {
  BrandParts,
  ContentSource,
  ContentValues,
} from '../../../../src/delivery/content/templates/content.ts';
import { designSchema } from '../../../../src/delivery/content/templates/design.ts';

export const brand: BrandParts = {
  company_name: 'Acme & Söhne',
  physical_address: '1 Main Street\n12345 Springfield',
  logo: 'https://cdn.acme.example/logo.png',
  brand_color: '#1f4fbf',
  text_color: '#222222',
  bg_color: '#fafafa',
  font_heading: 'Georgia',
  font_body: 'Verdana',
  links: [{ url: 'https://social.example/acme', icon: '', title: 'Social' }],
  default_header: {},
  default_footer: {},
  default_theme: {},
};

const empty: ContentSource = {
  channel: 'email',
  subject: 'Hello',
  preheader: null,
  body: null,
  design: null,
  contentFrom: 'body',
  brand,
  footer: 'none',
};

export const withBody = (body: string, more: Partial<ContentSource> = {}): ContentSource => ({
  ...empty,
  body,
  ...more,
});

/** @param design as a client sends it */
export const withDesign = (design: unknown, more: Partial<ContentSource> = {}): ContentSource => ({
  ...empty,
  design: designSchema.parse(design),
  contentFrom: 'design',
  ...more,
});

export const sms = (body: string): ContentSource => ({ ...empty, channel: 'sms', subject: null, body });

export const valuesOf = (
  variables: Record<string, unknown> = {},
  contact: Record<string, unknown> = {},
): ContentValues => ({
  contact: { first_name: 'Ada', email: 'ada@b.example', data: {}, ...contact },
  event: null,
  brand: { company_name: brand.company_name },
  campaign: { id: 7, name: 'Spring' },
  unsubscribe_url: 'https://mail.example/u/abc?x=1&y=2',
  preferences_url: null,
  variables,
});
