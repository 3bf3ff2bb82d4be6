/** The address in the attributes of a link, which stay as they are written. */
import { LIQUID } from './liquid-value.ts';

const HREF = new RegExp(String.raw`(\shref=)("(?:${LIQUID}|[^"{]|\{(?![{%]))*"|'[^']*')`, 'i');
/** The kinds of links that the service accepts, besides web addresses (`src/delivery/content/templates/link-schemes.ts`). */
const SCHEMES =
  'callto|facetime|facetime-audio|fax|geo|im|mailto|maps|matrix|mms|sip|sips|skype|sms|smsto|tel|viber|webcal|webcals|whatsapp|xmpp';
const ALLOWED = new RegExp(String.raw`^(?:https?:\/\/|(?:${SCHEMES}):|#|\{\{)`, 'i');

const decoded = (text: string) => text.replaceAll('&quot;', '"').replaceAll('&amp;', '&');

/** Returns '' if there is none. */
export function hrefOf(attributes: string): string {
  const quoted = HREF.exec(attributes)?.[2];
  return quoted === undefined ? '' : decoded(quoted.slice(1, -1));
}

/** Liquid with quotation marks stays as it is, because Liquid would not read an escaped one. */
function quotedHref(href: string): string {
  const pattern = new RegExp(`${LIQUID}|["&]`, 'g');
  const escaped = href.replaceAll(pattern, (found) =>
    found === '"' ? '&quot;' : found === '&' ? '&amp;' : found,
  );
  return `"${escaped}"`;
}

/** Returns the attributes with another address. An address of another kind than mail programs open becomes empty. */
export function linkAttributes(attributes: string, href: string): string {
  const quoted = quotedHref(ALLOWED.test(href.trim()) ? href.trim() : '');
  if (!HREF.test(attributes)) return ` href=${quoted}${attributes}`;
  return attributes.replace(HREF, (_all, name: string) => `${name}${quoted}`);
}

/** Whether mail programs open an address of this kind. */
export const isAllowedHref = (href: string): boolean => ALLOWED.test(href.trim());
