import { z } from 'zod';
import { oneLine } from '../../one-line.ts';
import { SIGNED_ID } from '../../platform/secrets/signed-id.ts';

const MAX_OBJECT_BYTES = 32 * 1024;
/** An SMS of one segment has 160 characters at most. */
const MAX_STOP_TEXT = 100;

const color = z.string().regex(/^#[0-9a-fA-F]{6}$/, 'must be # and six hexadecimal digits');
const text = (maxLength: number) => z.string().max(maxLength);
const object = z
  .record(z.string(), z.unknown())
  .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= MAX_OBJECT_BYTES, 'must have at most 32 KB');
/** The message for a URL with another scheme. A missing or mistyped value gets the usual message. */
const wrongScheme = (message: string) => ({
  error: (issue: { input: unknown }) => (typeof issue.input === 'string' ? message : undefined),
});
const zones = new Set(['UTC', ...Intl.supportedValuesOf('timeZone')]);
const timezone = z
  .string()
  .max(100)
  .refine((name) => zones.has(name), 'must be the name of an IANA time zone, such as Europe/Berlin')
  .meta({ examples: ['Europe/Berlin'] });
const address = z.url({ protocol: /^https?$/ }).max(2_000);
/** The target of a link in a header or footer: never a script. */
const target = z
  .url({ protocol: /^(https?|mailto|tel)$/, ...wrongScheme('must be a web, mailto or tel link') })
  .max(2_000)
  .meta({ pattern: '^([hH][tT][tT][pP][sS]?|[mM][aA][iI][lL][tT][oO]|[tT][eE][lL]):' });

const link = z.strictObject({
  url: target,
  icon: oneLine(100).default(''),
  title: oneLine(200).default(''),
});

/** The body of `PUT /v1/my/brand`. A field left out stays as it is; null clears it. */
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
      anyOf: [
        { type: 'string', pattern: SIGNED_ID.source },
        { type: 'string', format: 'uri', pattern: '^[hH][tT][tT][pP][sS]?:' },
        { type: 'null' },
      ],
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
  sms_stop_text: oneLine(MAX_STOP_TEXT).min(1).nullish().meta({
    description:
      'Added on a line of its own to each SMS of a campaign or flow, such as `Reply STOP to unsubscribe`.',
  }),
});

export type PutBrandBody = z.infer<typeof putBrandBody>;

/** Fields that GET returns and PUT ignores. */
export const brandReadOnlyFields = [
  'id',
  'account_id',
  'source_url',
  'last_scraped_at',
  'complete',
  'created_at',
  'updated_at',
];

/** Whether a logo is a URL rather than an upload. */
export function isLogoUrl(logo: string): boolean {
  return address.safeParse(logo).success;
}

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
    source_url: nullableText,
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
        'An IANA time zone, for campaigns at local time: that of contacts whose zone and country are unknown.',
    }),
    sms_stop_text: nullableText,
    complete: z.boolean().meta({ description: 'Whether brand_color and company_name are set.' }),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'Brand' });

export type Brand = z.infer<typeof brandSchema>;
