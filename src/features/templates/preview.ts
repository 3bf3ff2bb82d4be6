/** Turns rendered messages into pages that a browser can show safely. */
import { Parser } from 'htmlparser2';
import { LINK_SCHEMES } from '../../delivery/content/templates/link-schemes.ts';

/** Elements that run, load or send something. They are removed together with their contents. */
const REMOVED = new Set([
  'applet',
  'audio',
  'base',
  'embed',
  'frame',
  'frameset',
  'iframe',
  'link',
  'math',
  'meta',
  'noembed',
  'noframes',
  'noscript',
  'object',
  'plaintext',
  'portal',
  'script',
  'svg',
  'template',
  'video',
  'xmp',
]);
/** Form elements, of which only the tags are removed. */
const UNWRAPPED = new Set(['form', 'input', 'button', 'select', 'textarea', 'option', 'fieldset', 'dialog']);
const EMPTY = new Set([
  'area',
  'br',
  'col',
  'hr',
  'img',
  'wbr',
  'source',
  'track',
  'param',
  'base',
  'link',
  'meta',
  'embed',
  'input',
  'frame',
]);
const REMOVED_ATTRIBUTES = new Set([
  'srcdoc',
  'srcset',
  'action',
  'formaction',
  'ping',
  'background',
  'is',
  'slot',
  'nonce',
]);
const ATTRIBUTE_NAME = /^[a-z][a-z0-9:_-]{0,60}$/;
const URL_ATTRIBUTES = new Set(['href', 'src', 'cite', 'longdesc', 'xlink:href']);
const SAFE_URL = new RegExp(`^(?:(?:${LINK_SCHEMES.join('|')}):|#|/|data:image/(?:png|jpeg|gif|webp);)`, 'i');

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escape = (text: string) => text.replace(/[&<>"]/g, (character) => entities[character] ?? character);

const DOCTYPE = '<!doctype html>';

/** Unsubscribe and preference links, on any host: a sending domain may have a host of its own for them. */
const RECIPIENT_PAGE = /^https?:\/\/[^/]*\/(?:unsubscribe|preferences)\//i;

function attributeText(name: string, value: string): string {
  const isKept = ATTRIBUTE_NAME.test(name) && !name.startsWith('on') && !REMOVED_ATTRIBUTES.has(name);
  if (!isKept) return '';
  // Browsers ignore control characters and spaces in a scheme.
  if (URL_ATTRIBUTES.has(name) && !SAFE_URL.test(value.replace(/[\u0000-\u0020]/g, ''))) return '';
  if (name === 'href' && RECIPIENT_PAGE.test(value)) return ' href="#"';
  return ` ${name}="${escape(value)}"`;
}

/**
 * Removes everything from HTML that could run, load a document or send a form: scripts, frames, forms, event
 * attributes, and links with unsafe schemes. Reads the text once.
 */
export function sanitize(html: string): string {
  const parts: string[] = [];
  let removed = 0;
  let inStyle = false;
  const parser = new Parser({
    onopentag(name, attributes) {
      if (REMOVED.has(name) && !EMPTY.has(name)) removed += 1;
      if (removed > 0 || REMOVED.has(name) || UNWRAPPED.has(name)) return;
      inStyle = name === 'style';
      const written = Object.entries(attributes).map(([key, value]) => attributeText(key, value));
      parts.push(`<${name}${written.join('')}>`);
    },
    onclosetag(name) {
      if (REMOVED.has(name) && !EMPTY.has(name)) removed = Math.max(0, removed - 1);
      else if (removed === 0 && !UNWRAPPED.has(name) && !EMPTY.has(name)) {
        parts.push(`</${name}>`);
        inStyle = false;
      }
    },
    ontext(text) {
      if (removed > 0) return;
      parts.push(inStyle ? text.replaceAll('<', '') : escape(text));
    },
  });
  parser.end(html);
  return `${DOCTYPE}${parts.join('')}`;
}

/** Headers of a preview: it runs no scripts, sends no forms and has an origin of its own. */
export const PREVIEW_HEADERS: Record<string, string> = {
  'Content-Security-Policy': [
    'sandbox allow-popups allow-popups-to-escape-sandbox',
    "default-src 'none'",
    'img-src https: http: data:',
    "style-src 'unsafe-inline'",
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'self'",
  ].join('; '),
  'X-Frame-Options': 'SAMEORIGIN',
};

/** Returns plain text as a page. */
function textPage(text: string): string {
  return `${DOCTYPE}<pre style="white-space: pre-wrap">${escape(text)}</pre>`;
}

/**
 * Approximates the dark mode of mail clients: inverts the colors of a light email, and inverts its images a second
 * time, which restores them. The filter is on the body because browsers differ in how a filter on the root affects the
 * canvas.
 */
const DARK =
  '<style>html{background:#000!important}body{background-color:#fff;min-height:100vh}' +
  'body,img{filter:invert(1) hue-rotate(180deg)}</style>';

/**
 * Returns rendered content as a page that runs no scripts and has no working unsubscribe links.
 * @param options.dark whether to approximate dark mode; false by default
 */
export function pageOf(
  { html, text }: { html: string | null; text: string | null },
  { dark = false }: { dark?: boolean | undefined } = {},
): string {
  const page = html === null ? textPage(text ?? '') : sanitize(html);
  return dark ? `${DOCTYPE}${DARK}${page.slice(DOCTYPE.length)}` : page;
}
