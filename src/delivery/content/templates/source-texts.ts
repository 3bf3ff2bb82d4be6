/** The Liquid texts of a content, with the fields that contain them. */
import { hasHtml } from '../../terms/channels/content-shapes.ts';
import type { BrandParts, ContentSource, Problem } from './content.ts';
import type { Design, DesignSection } from './design.ts';
import { allSections } from './design-mjml.ts';
import { LiquidSyntaxError, parseLiquid } from './liquid.ts';
import { withoutControls } from './values.ts';

export interface SourceText {
  field: string;
  text: string;
}

/** Changes all texts in a value. */
export function mapTexts<Value>(value: Value, change: (text: string) => string): Value {
  if (typeof value === 'string') return change(value) as Value;
  if (Array.isArray(value)) return value.map((each: unknown) => mapTexts(each, change)) as Value;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, mapTexts(each, change)]),
  ) as Value;
}

function collect(value: unknown, field: string, into: SourceText[]): void {
  if (typeof value === 'string') into.push({ field, text: value });
  else if (Array.isArray(value))
    for (const [n, each] of value.entries()) collect(each, `${field}.${n}`, into);
  else if (typeof value === 'object' && value !== null) {
    for (const [name, each] of Object.entries(value)) collect(each, `${field}.${name}`, into);
  }
}

/** Brand names and addresses are not Liquid, so delimiters in them are broken up. */
const notLiquid = (text: string) => withoutControls(text).replaceAll('{{', '{ {').replaceAll('{%', '{ %');

function literalBrand(brand: BrandParts): BrandParts {
  const { company_name, physical_address, logo, links, sms_stop_text = null } = brand;
  const texts = { company_name, physical_address, logo, links, sms_stop_text };
  return { ...brand, ...mapTexts(texts, notLiquid) };
}

/** A source with Liquid disabled in its brand, and with all sections of its design. */
export function preparedSource(source: ContentSource): ContentSource & { sections: DesignSection[] } {
  const brand = literalBrand(source.brand);
  const usesDesign = source.contentFrom === 'design' && hasHtml(source.channel);
  const design: Design | null = usesDesign && source.design ? mapTexts(source.design, withoutControls) : null;
  const clean = (text: string | null) => (text === null ? null : withoutControls(text));
  return {
    ...source,
    brand,
    design,
    subject: clean(source.subject),
    preheader: clean(source.preheader),
    body: usesDesign ? null : clean(source.body),
    sections: design ? allSections(design, brand) : [],
  };
}

/** All texts that may contain Liquid. */
export function sourceTexts({
  channel,
  subject,
  preheader,
  body,
  design,
  sections,
}: ReturnType<typeof preparedSource>): {
  single: SourceText[];
  design: SourceText[];
} {
  const single: SourceText[] = [];
  if (hasHtml(channel)) {
    collect(subject, 'subject', single);
    collect(preheader, 'preheader', single);
  }
  collect(body, 'body', single);
  const designTexts: SourceText[] = [];
  if (design) {
    const own = new Set<unknown>(design.sections);
    const first = sections.findIndex((section) => own.has(section));
    for (const [n, section] of sections.entries()) {
      const field = own.has(section) ? `design.sections.${n - first}` : `brand.default_${section.type}`;
      collect({ props: section.props }, field, designTexts);
    }
    collect(design.theme, 'design.theme', designTexts);
  }
  return { single, design: designTexts };
}

function problemOf({ field, text }: SourceText): Problem | null {
  if (!text.includes('{')) return null;
  try {
    parseLiquid(text, 'text');
    return null;
  } catch (error) {
    if (!(error instanceof LiquidSyntaxError)) throw error;
    return { field, code: 'liquid_error', message: `line ${error.line}: ${error.message}` };
  }
}

/** Finds invalid Liquid. A tag may begin in one text of a design and end in another. */
export function liquidProblems(texts: ReturnType<typeof sourceTexts>): Problem[] {
  const found = texts.single.map(problemOf).filter((problem) => problem !== null);
  const inDesign = texts.design.map(problemOf).filter((problem) => problem !== null);
  if (
    inDesign.length > 0 &&
    problemOf({ field: 'design', text: texts.design.map(({ text }) => text).join('\n') })
  ) {
    found.push(...inDesign);
  }
  return found;
}
