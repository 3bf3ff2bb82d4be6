import { createHash } from 'node:crypto';
import { escapeHtml } from '../../delivery/content/mime/escape-html.ts';
import type { RawResult } from '../../platform/http/route.ts';
import type { Preferences } from './preferences.ts';

/** The fields of the brand that a page shows. */
export interface PageBrand {
  company_name: string | null;
  brand_color: string | null;
  text_color: string | null;
  bg_color: string | null;
}

const COLOR = /^#[0-9a-fA-F]{6}$/;
const colorOr = (given: string | null, otherwise: string) =>
  given !== null && COLOR.test(given) ? given : otherwise;

/** Relative luminance (WCAG 2.2). @param color `#` and six hexadecimal digits */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = parseInt(color.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [low = 0, high = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

/** Minimum contrast of text (WCAG 2.2, 1.4.3). */
const MIN_CONTRAST = 4.5;

/** A text color that is readable on the background, whatever the brand has chosen. */
function readable(wanted: string, background: string): string {
  if (contrast(wanted, background) >= MIN_CONTRAST) return wanted;
  return contrast('#000000', background) >= contrast('#ffffff', background) ? '#000000' : '#ffffff';
}

function styleOf(brand: PageBrand): string {
  const background = colorOr(brand.bg_color, '#ffffff');
  const text = readable(colorOr(brand.text_color, '#1a1a1a'), background);
  const button = colorOr(brand.brand_color, '#1f4fbf');
  return `
    body { margin: 0; background: ${background}; color: ${text}; font: 1.125rem/1.5 system-ui, sans-serif; }
    main { max-width: 32rem; margin: 15vh auto; padding: 0 1.5rem; }
    h1 { font-size: 1.5rem; line-height: 1.25; }
    strong { overflow-wrap: anywhere; }
    button { min-height: 3rem; padding: 0 1.5rem; border: 2px solid ${text}; border-radius: 0.25rem;
      background: ${button}; color: ${readable('#ffffff', button)}; font: inherit; cursor: pointer; }
    fieldset { margin: 0 0 1.5rem; padding: 0; border: 0; }
    legend { padding: 0; font-weight: bold; }
    label { display: block; padding: 0.75rem 0; overflow-wrap: anywhere; }
    input { width: 1.25rem; height: 1.25rem; margin: 0 0.5rem 0 0; vertical-align: middle; }
    small { display: block; padding-left: 1.75rem; font-size: 1rem; }
    button:focus-visible, input:focus-visible { outline: 3px solid ${text}; outline-offset: 3px; }
  `;
}

const SECURITY_HEADERS = {
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'no-referrer',
  'X-Robots-Tag': 'noindex',
};

function page(status: number, brand: PageBrand, title: string, content: string): RawResult {
  const style = styleOf(brand);
  const styleHash = createHash('sha256').update(style).digest('base64');
  const body = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
${content}
</main>
</body>
</html>
`;
  return {
    status,
    raw: { contentType: 'text/html; charset=utf-8', body },
    headers: {
      ...SECURITY_HEADERS,
      'Content-Security-Policy': `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
    },
  };
}

/** `a•••@example.com`: enough for people to recognize their own address, but not to read it. */
export function maskAddress(address: string): string {
  const at = address.lastIndexOf('@');
  const first = [...address.slice(0, at)][0] ?? '';
  return `${first}•••${address.slice(at)}`;
}

const nameOf = ({ company_name: name }: PageBrand) => name ?? 'this sender';

/** @param address null if it is no longer known */
function recipient(address: string | null): string {
  return address === null ? 'You' : `<strong>${escapeHtml(maskAddress(address))}</strong>`;
}

/** Asks whether to unsubscribe. Its form posts to its own address. */
export function askPage(brand: PageBrand, address: string | null): RawResult {
  const who = address === null ? '' : ` to ${recipient(address)}`;
  return page(
    200,
    brand,
    `Unsubscribe from ${nameOf(brand)}?`,
    `<p>${escapeHtml(nameOf(brand))} will stop sending newsletters${who}. Receipts and other messages about your account may
still arrive.</p>
<form method="post"><button type="submit">Unsubscribe</button></form>`,
  );
}

/** Confirms that the recipient is unsubscribed. */
export function donePage(brand: PageBrand, address: string | null): RawResult {
  const verb = address === null ? 'are' : 'is';
  return page(
    200,
    brand,
    'You are unsubscribed',
    `<p role="status">${recipient(address)} ${verb} unsubscribed from ${escapeHtml(nameOf(brand))}. You can close this page.</p>`,
  );
}

/** The page for a link that is not genuine or was damaged. It shows no brand. */
export function unknownPage(): RawResult {
  const plain: PageBrand = { company_name: null, brand_color: null, text_color: null, bg_color: null };
  return page(
    404,
    plain,
    'This link does not work',
    '<p>It may be incomplete. Open it from the email again, or reply to the email and ask to be removed.</p>',
  );
}

function listsForm({ lists }: Preferences): string {
  if (lists.length === 0) return '';
  const boxes = lists.map(({ id, name, description }) => {
    const more = description === null ? '' : `<small>${escapeHtml(description)}</small>`;
    return `<input type="hidden" name="shown" value="${id}">
<label><input type="checkbox" name="list" value="${id}" checked>${escapeHtml(name)}${more}</label>`;
  });
  return `<form method="post">
<fieldset>
<legend>Lists you are subscribed to</legend>
${boxes.join('\n')}
</fieldset>
<p>Uncheck each list that you want to leave.</p>
<button type="submit" name="action" value="save">Save</button>
</form>
`;
}

/**
 * Shows the lists of a contact, and offers to leave them or all mail of the brand. Its forms post to its own address.
 * @param saved whether to confirm that the lists were changed
 */
export function preferencePage(brand: PageBrand, preferences: Preferences, saved: boolean): RawResult {
  const { address, subscribed, lists } = preferences;
  const from = escapeHtml(nameOf(brand));
  const confirmation = saved ? '<p role="status">Your changes have been saved.</p>\n' : '';
  const who = address === null ? '' : `<p>These are the settings for ${recipient(address)}.</p>\n`;
  const isOut = address !== null && !subscribed;
  const all = isOut
    ? `<p>${recipient(address)} is not subscribed to any newsletter from ${from}.</p>`
    : `<form method="post">
<p>${lists.length > 0 ? 'Or stop' : 'Stop'} receiving all newsletters from ${from}. Receipts and other messages about your account may still
arrive.</p>
<button type="submit" name="action" value="unsubscribe">Unsubscribe from everything</button>
</form>`;
  return page(
    200,
    brand,
    `Your newsletters from ${nameOf(brand)}`,
    `${confirmation}${who}${listsForm(preferences)}${all}`,
  );
}
