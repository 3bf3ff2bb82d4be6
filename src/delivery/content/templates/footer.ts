/** The footer of marketing emails: the sender, its postal address, and how to unsubscribe. */
import type { BrandParts } from './content.ts';
import { escapeValue } from './values.ts';

export interface FooterNeeds {
  /** The content itself has no link to `unsubscribe_url`. */
  unsubscribeLink: boolean;
  /** The content does not show the address itself. */
  address: boolean;
}

/** The non-empty lines of a text. */
export const linesOf = (text: string | null) =>
  (text ?? '')
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '');

function addressOf({ company_name, physical_address }: BrandParts): string[] {
  const address = linesOf(physical_address);
  const name = (company_name ?? '').trim();
  return name === '' || address[0]?.startsWith(name) ? address : [name, ...address];
}

/** The style of a footer. */
interface FooterStyle {
  text: string;
  background: string | null;
  font: string;
}

export const PLAIN_FOOTER: FooterStyle = {
  text: '#555555',
  background: null,
  font: 'Helvetica, Arial, sans-serif',
};

/**
 * The footer as HTML without Liquid; empty if nothing is needed.
 * @param unsubscribe a placeholder for the URL of the page
 */
export function footerHtml(
  brand: BrandParts,
  needs: FooterNeeds,
  unsubscribe: string,
  style: FooterStyle,
): string {
  const parts: string[] = [];
  if (needs.address) parts.push(...addressOf(brand).map(escapeValue));
  if (needs.unsubscribeLink) {
    parts.push(`<a href="${unsubscribe}" style="color:inherit;text-decoration:underline">Unsubscribe</a>`);
  }
  if (parts.length === 0) return '';
  const css =
    `padding:16px 24px;font-family:${style.font};font-size:12px;line-height:1.5;color:${style.text};` +
    `text-align:center${style.background === null ? '' : `;background-color:${style.background}`}`;
  return (
    '\n<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0"><tr>' +
    `<td align="center" style="${css}">${parts.join('<br>\n')}</td></tr></table>\n`
  );
}

/** The footer as text, with Liquid; empty if nothing is needed. */
export function footerText(brand: BrandParts, needs: FooterNeeds): string {
  const parts: string[] = [];
  if (needs.address) parts.push(...addressOf(brand));
  if (needs.unsubscribeLink) parts.push('Unsubscribe: {{ unsubscribe_url }}');
  return parts.join('\n');
}
