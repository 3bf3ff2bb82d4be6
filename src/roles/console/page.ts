import { randomBytes } from 'node:crypto';
import type { RawResult } from '../../platform/http/route.ts';

/** Of the page and of the page that stands in for it. */
const HEADERS = {
  'Cache-Control': 'no-store',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy':
    'camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), publickey-credentials-get=(), usb=()',
  'Referrer-Policy': 'no-referrer',
  'X-Robots-Tag': 'noindex',
};

/**
 * Allows our own files, and the elements with the nonce. Frames show previews and mail, which have policies of their
 * own. Nothing is loaded from another host, so that a stranger's text in a page can send nothing away.
 */
const policyOf = (nonce: string) =>
  [
    "default-src 'none'",
    `script-src 'self' 'nonce-${nonce}'`,
    `style-src 'self' 'nonce-${nonce}'`,
    "connect-src 'self'",
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "frame-src 'self'",
    "manifest-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

const html = (status: number, body: string, policy: string): RawResult => ({
  status,
  raw: { contentType: 'text/html; charset=utf-8', body },
  headers: { ...HEADERS, 'Content-Security-Policy': policy },
});

/** @param parts the page, split where the nonce goes */
export function consolePage(parts: readonly string[]): RawResult {
  const nonce = randomBytes(18).toString('base64');
  return html(200, parts.join(nonce), policyOf(nonce));
}

/** Sends a browser to the same page at the service's own name. */
export const redirectTo = (location: string): RawResult => ({
  status: 302,
  raw: { contentType: 'text/plain; charset=utf-8', body: '' },
  headers: { 'Cache-Control': 'no-store', Location: location },
});

const MISSING = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>The console is not built – Carillon</title>
</head>
<body>
<main>
<h1>The console is not built</h1>
<p>The API works; only its pages are missing. In the folder of Carillon, run</p>
<pre>npm ci
npm run console</pre>
<p>and load this page again. <a href="/docs">The description of the API</a> needs no build.</p>
</main>
</body>
</html>
`;

/** What stands at `/console` if there is no bundle. */
export const missingPage = (): RawResult =>
  html(503, MISSING, "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
