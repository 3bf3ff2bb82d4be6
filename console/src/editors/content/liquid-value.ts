/** Outputs of Liquid, such as `{{ contact.first_name | default: "there" }}`. */

/** An output that a form can show. All others are edited as they are. */
interface LiquidValue {
  name: string;
  /** Shown if the value is empty; '' if nothing is. */
  fallback: string;
}

const NAME = String.raw`[A-Za-z_][\w-]*(?:\.[\w-]+)*`;
const SIMPLE = new RegExp(
  String.raw`^\{\{-?\s*(${NAME})\s*(?:\|\s*default:\s*(?:"([^"]*)"|'([^']*)')\s*)?-?\}\}$`,
);
const WHOLE_NAME = new RegExp(`^${NAME}$`);
/** An output or a tag. A `}}` in a quoted text does not end it. */
export const LIQUID = String.raw`\{\{(?:"[^"]*"|'[^']*'|(?!\}\})[^"'])*\}\}|\{%(?:"[^"]*"|'[^']*'|(?!%\})[^"'])*%\}`;

export const isName = (text: string): boolean => WHOLE_NAME.test(text);

/** Returns null if the output has other filters, or is a tag. */
export function parseValue(source: string): LiquidValue | null {
  const found = SIMPLE.exec(source);
  if (!found) return null;
  const [, name = '', double, single] = found;
  return { name, fallback: double ?? single ?? '' };
}

/** Liquid has no escapes, so a text with both kinds of quotation marks gets typographic ones. */
function quoted(text: string): string {
  if (!text.includes('"')) return `"${text}"`;
  return text.includes("'") ? `"${text.replaceAll('"', '”')}"` : `'${text}'`;
}

export function valueSource({ name, fallback }: LiquidValue): string {
  return fallback === '' ? `{{ ${name} }}` : `{{ ${name} | default: ${quoted(fallback)} }}`;
}

/** What a chip shows. */
export function chipLabel(source: string): string {
  const value = parseValue(source);
  if (!value) return source;
  return value.fallback === '' ? value.name : `${value.name} or “${value.fallback}”`;
}

const COMMON = [
  'contact.first_name',
  'contact.last_name',
  'contact.email',
  'contact.phone',
  'contact.country_code',
  'brand.company_name',
  'brand.physical_address',
  'unsubscribe_url',
  'preferences_url',
];

/**
 * Returns the names to choose from.
 * @param of.names names that exist only here
 * @param of.variables the samples of the content
 */
export function namesOf(of: {
  footer: 'none' | 'marketing';
  names?: readonly string[] | undefined;
  variables?: Record<string, unknown> | null | undefined;
}): string[] {
  const own = of.footer === 'marketing' ? ['campaign.name'] : [];
  return [...new Set([...COMMON, ...own, ...(of.names ?? []), ...Object.keys(of.variables ?? {})])];
}
