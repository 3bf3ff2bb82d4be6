/** A design: sections and a theme. Its schema is that of the API. */
import { z } from 'zod';
import { LINK_SCHEMES, WRONG_SCHEME } from './link-schemes.ts';

const MAX_SECTIONS = 100;
const MAX_HTML = 100_000;
const MAX_DESIGN_BYTES = 512 * 1024;

/** A value of these characters cannot break out of a style or an attribute. */
export const COLOR = /^(#[0-9a-fA-F]{3}|#[0-9a-fA-F]{6}|[a-zA-Z]{3,20})$/;
/** The only ASCII characters are letters, digits and these marks. The pattern is part of the API's description. */
export const FONT = /^[^\u0000-\u001f!-&(-+./:-@\u005b-^`{-\u009f]{1,200}$/;
export const PADDING = /^[0-9]{1,3}(px)?( [0-9]{1,3}(px)?){0,3}$/;

const color = z.string().regex(COLOR, 'must be a color such as #1a2b3c');
const font = z.string().max(200).regex(FONT, 'must be a list of font names');
const html = z.string().max(MAX_HTML);
const label = z.string().max(2_000);
/**
 * All other schemes, which mail clients do not follow. A URL that begins with Liquid can only be checked when it is
 * rendered.
 */
const OTHER_SCHEME = new RegExp(`^(?!(?:${LINK_SCHEMES.join('|')}):)[a-z][a-z0-9+.-]*:`, 'i');
const url = z
  .string()
  .max(2_000)
  .refine((text) => !OTHER_SCHEME.test(text.trim()), WRONG_SCHEME);

const styles = z
  .strictObject({
    background_color: color.optional(),
    padding: z.string().regex(PADDING, 'must be one to four lengths such as 10px 25px').optional(),
    align: z.enum(['left', 'center', 'right']).optional(),
  })
  .meta({ id: 'SectionStyles' });

function section<Type extends string, Props extends z.ZodType>(type: Type, props: Props) {
  const id = `${type.charAt(0).toUpperCase()}${type.slice(1)}Section`;
  return z.strictObject({ type: z.literal(type), props, styles: styles.optional() }).meta({ id });
}

const link = z.strictObject({ url, icon: label.optional(), title: label.optional() });

const plainSections = [
  section('header', z.strictObject({ logo_url: url.optional(), title: label.optional() }).default({})),
  section('text', z.strictObject({ html })),
  section('image', z.strictObject({ src: url, alt: label.optional(), href: url.optional() })),
  section('button', z.strictObject({ label, href: url })),
  section('divider', z.strictObject({}).default({})),
  section('spacer', z.strictObject({ height: z.int().min(1).max(500).default(20) }).default({ height: 20 })),
  section('social', z.strictObject({ links: z.array(link).max(20).optional() }).default({})),
  section('html', z.strictObject({ html })),
  section('footer', z.strictObject({ html: html.optional() }).default({})),
] as const;

const plainSection = z.discriminatedUnion('type', plainSections).meta({ id: 'PlainSection' });
const column = z.strictObject({ sections: z.array(plainSection).max(20) }).meta({ id: 'DesignColumn' });

const designSection = z
  .discriminatedUnion('type', [
    ...plainSections,
    section('columns', z.strictObject({ columns: z.array(column).min(2).max(4) })),
  ])
  .meta({ id: 'DesignSection' });

export const designTheme = z
  .strictObject({
    brand_color: color.optional(),
    bg_color: color.optional(),
    text_color: color.optional(),
    font_body: font.optional(),
    font_heading: font.optional(),
    logo_url: url.optional(),
  })
  .meta({ id: 'DesignTheme' });

/** `design` of a template. */
export const designSchema = z
  .strictObject({
    sections: z.array(designSection).max(MAX_SECTIONS).default([]),
    theme: designTheme.default({}),
  })
  .refine(
    (design) => Buffer.byteLength(JSON.stringify(design)) <= MAX_DESIGN_BYTES,
    'must have at most 512 KB',
  )
  .meta({ id: 'Design' });

export type Design = z.infer<typeof designSchema>;
export type DesignSection = Design['sections'][number];
export type PlainSection = z.infer<typeof plainSection>;
export type DesignTheme = Design['theme'];
