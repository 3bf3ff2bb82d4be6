import { z } from 'zod';
import { LINK_SCHEMES, WRONG_SCHEME } from '../../delivery/content/templates/link-schemes.ts';
import { pageQuery } from '../../platform/db/paging.ts';
import { oneLine } from '../../platform/input/one-line.ts';
import { isTimeZone } from '../../platform/input/time-zones.ts';
import { revisionField } from '../../platform/db/revisions.ts';
import { SIGNED_ID } from '../../platform/secrets/signed-id.ts';
import { scrapedFields, scrapeErrors } from './scrape/fields.ts';

const MAX_OBJECT_BYTES = 32 * 1024;
/** A single-segment SMS has at most 160 characters. */
const MAX_STOP_TEXT = 100;

const color = z.string().regex(/^#[0-9a-fA-F]{6}$/, 'must be # and six hexadecimal digits');
const text = (maxLength: number) => z.string().max(maxLength);
const object = z
  .record(z.string(), z.unknown())
  .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= MAX_OBJECT_BYTES, 'must have at most 32 KB');
/** The message for a URL with another scheme. A missing value, or one of another type, gets the usual message. */
const wrongScheme = (message: string) => ({
  error: (issue: { input: unknown }) => (typeof issue.input === 'string' ? message : undefined),
});
const timezone = z
  .string()
  .max(100)
  .refine(isTimeZone, 'must be the name of an IANA time zone, such as Europe/Berlin')
  .meta({ examples: ['Europe/Berlin'] });
const clock = z.string().regex(/^([01][0-9]|2[0-3]):[0-5][0-9]$/, 'must be a time such as 21:00');
const clockZone = z
  .string()
  .max(100)
  .refine(
    (name) => name === 'contact' || isTimeZone(name),
    'must be the name of an IANA time zone, or contact',
  )
  .meta({
    examples: ['Europe/Berlin', 'contact'],
    description:
      'An IANA time zone, or `contact` (the default): the time zone of the contact (`data.timezone`), else of its ' +
      'country, else of the brand, else UTC.',
  });
const quietHours = z
  .strictObject({ start: clock, end: clock, timezone: clockZone.default('contact') })
  .refine(({ start, end }) => start !== end, { path: ['end'], message: 'must differ from start' })
  .meta({
    description:
      'Messages of flows wait until these hours have ended. An `end` before `start` is on the next day.',
  });
const MAX_CAP = 1_000;
/** 31 days. */
const MAX_CAP_SECONDS = 2_678_400;
const frequencyCap = z
  .strictObject({ count: z.int().min(1).max(MAX_CAP), per_seconds: z.int().min(60).max(MAX_CAP_SECONDS) })
  .meta({
    description:
      'One contact gets at most `count` messages of campaigns and flows in any `per_seconds` seconds. Others are skipped.',
  });
const address = z.url({ protocol: /^https?$/ }).max(2_000);
/** A pattern of JSON Schema, which has no flags. */
const inAnyCase = (word: string) =>
  word.replaceAll(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);
/** The target of a link in a header or footer: never a script. */
const target = z
  .url({ protocol: new RegExp(`^(?:${LINK_SCHEMES.join('|')})$`), ...wrongScheme(WRONG_SCHEME) })
  .max(2_000)
  .meta({ pattern: `^(${LINK_SCHEMES.map(inAnyCase).join('|')}):` });

const link = z.strictObject({
  url: target,
  icon: oneLine(100).default(''),
  title: oneLine(200).default(''),
});

/** The body of `PUT /v1/my/brand`. An omitted field stays unchanged; null clears it. */
export const putBrandBody = z.strictObject({
  brand_color: color.nullish(),
  text_color: color.nullish(),
  bg_color: color.nullish(),
  font_heading: oneLine(200).nullish(),
  font_body: oneLine(200).nullish(),
  style_notes: text(10_000).nullish(),
  tone: text(2_000).nullish(),
  company_description: text(10_000).nullish(),
  industry: oneLine(200).nullish(),
  physical_address: text(1_000).nullish(),
  company_name: oneLine(200).nullish(),
  logo: z
    .string()
    .max(2_000)
    .nullish()
    .meta({
      pattern: `${SIGNED_ID.source}|^[hH][tT][tT][pP][sS]?:`,
      description: 'A `signed_id` from `POST /uploads`, or a URL.',
    }),
  example_copy: z.array(text(5_000)).max(50).nullish(),
  links: z.array(link).max(50).optional(),
  default_header: object.optional(),
  default_footer: object.optional(),
  default_theme: object.optional(),
  track_opens: z.boolean().optional(),
  track_clicks: z.boolean().optional(),
  timezone: timezone.nullish(),
  quiet_hours: quietHours.nullish(),
  frequency_cap: frequencyCap.nullish(),
  sms_stop_text: oneLine(MAX_STOP_TEXT).min(1).nullish().meta({
    description:
      'Added on a separate line to each SMS of a campaign or flow, such as `Reply STOP to unsubscribe`.',
  }),
});

export type PutBrandBody = z.infer<typeof putBrandBody>;

/** The body of `POST /v1/my/brands`. */
export const createBrandBody = putBrandBody.extend({ company_name: oneLine(200).min(1) });

export const listBrandsQuery = z.strictObject(pageQuery);

/** Fields that GET returns and PUT ignores. */
export const brandReadOnlyFields = [
  'id',
  'account_id',
  'source_url',
  'last_scraped_at',
  'scrape',
  'complete',
  'revision',
  'created_at',
  'updated_at',
];

/** Whether a logo is a URL rather than an upload. */
export function isLogoUrl(logo: string): boolean {
  return address.safeParse(logo).success;
}

const MAX_URL = 2_000;

/** The body of `POST /v1/my/brand/scrape`. */
export const scrapeBody = z.strictObject({
  url: oneLine(MAX_URL)
    .min(1)
    .meta({
      description: 'The URL of a website, or its domain: `example.com` means `https://example.com/`.',
      examples: ['https://example.com'],
    }),
  overwrite: z.boolean().default(false).meta({
    description: 'Also replace values that were edited before the scrape began.',
  }),
});

/** The response to `POST /v1/my/brand/scrape`. */
export const scrapeStarted = z
  .object({ status: z.literal('scraping'), url: z.string() })
  .meta({ id: 'BrandScrapeStarted' });

const scrapeSchema = z
  .object({
    status: z.enum(['scraping', 'completed', 'failed']),
    url: z.string(),
    fields_found: z.array(z.enum(scrapedFields)).meta({
      description: 'The values found. A field that was edited still keeps its own value.',
    }),
    error: z.enum(scrapeErrors).nullable(),
    started_at: z.iso.datetime(),
    finished_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'BrandScrape' });

export type BrandScrape = z.infer<typeof scrapeSchema>;

const nullableText = z.string().nullable();
const anyObject = z.record(z.string(), z.unknown());

export const brandSchema = z
  .object({
    id: z.int(),
    account_id: z.int(),
    brand_color: nullableText,
    text_color: nullableText,
    bg_color: nullableText,
    font_heading: nullableText,
    font_body: nullableText,
    style_notes: nullableText,
    tone: nullableText,
    company_description: nullableText,
    industry: nullableText,
    physical_address: nullableText,
    company_name: nullableText,
    source_url: nullableText.meta({ description: 'The website of the last completed scrape.' }),
    example_copy: z.array(z.string()).nullable(),
    default_header: anyObject,
    default_footer: anyObject,
    default_theme: anyObject,
    last_scraped_at: z.iso.datetime().nullable(),
    links: z.array(z.object({ url: z.string(), icon: z.string(), title: z.string() })),
    logo: nullableText.meta({ description: 'URL of the logo.' }),
    track_opens: z.boolean(),
    track_clicks: z.boolean(),
    timezone: nullableText.meta({
      description:
        'An IANA time zone. Campaigns at local time use it for contacts whose time zone and country are unknown.',
    }),
    quiet_hours: z.object({ start: z.string(), end: z.string(), timezone: z.string() }).nullable(),
    frequency_cap: z.object({ count: z.int(), per_seconds: z.int() }).nullable(),
    sms_stop_text: nullableText,
    scrape: scrapeSchema.nullable().meta({ description: 'The latest scrape of a website for the brand.' }),
    complete: z.boolean().meta({ description: 'Whether brand_color and company_name are set.' }),
    revision: revisionField,
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'Brand' });

export type Brand = z.infer<typeof brandSchema>;
