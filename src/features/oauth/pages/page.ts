import { hash } from 'node:crypto';
import { escapeHtml } from '../../../delivery/content/mime/escape-html.ts';
import type { AppError, ErrorCode } from '../../../errors.ts';
import type { RawResult } from '../../../platform/http/route.ts';
import { STYLE, STYLE_PATH } from './style.ts';

/**
 * `form-action` is missing on purpose: Chromium also applies it to the redirects after a form, so that it would keep the
 * user from going back to the client. Nor is there a Cross-Origin-Opener-Policy, which would cut off a client that opened
 * the page in a window of its own.
 * @param script the only one that may run; none if empty
 */
function policyWith(script: string): string {
  const scripts = script && ` script-src 'sha256-${hash('sha256', script, 'base64')}';`;
  return `default-src 'none'; style-src 'self';${scripts} base-uri 'none'; frame-ancestors 'none'`;
}

const HEADERS = {
  'Content-Security-Policy': policyWith(''),
  // With no-referrer, browsers would send forms with the Origin `null`.
  'Referrer-Policy': 'same-origin',
  'X-Robots-Tag': 'noindex',
};

export interface Page {
  title: string;
  /** HTML. */
  content: string;
  /** What is wrong with the form that the user sent. */
  error?: string | undefined;
  /** JavaScript, after the content. */
  script?: string;
  headers?: Record<string, string>;
}

/** Errors get the focus, so that screen readers read them first. */
const errorLine = (error: string) =>
  `<p class="error" role="alert" tabindex="-1" autofocus>${escapeHtml(error)}</p>\n`;

/** A page with the frame that all pages share. */
export function page(status: number, { title, content, error, script = '', headers }: Page): RawResult {
  const body = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${error === undefined ? '' : 'Error: '}${escapeHtml(title)} – Carillon</title>
<link rel="stylesheet" href="${STYLE_PATH}">
</head>
<body>
<main>
<p class="service">Carillon</p>
<h1>${escapeHtml(title)}</h1>
${error === undefined ? '' : errorLine(error)}${content}
</main>
${script && `<script>${script}</script>\n`}</body>
</html>
`;
  return {
    status,
    raw: { contentType: 'text/html; charset=utf-8', body },
    headers: { ...HEADERS, 'Content-Security-Policy': policyWith(script), ...headers },
  };
}

/** The name that a client gives itself. It is not verified. */
export const clientName = ({ name }: { name: string }) =>
  `<strong><bdi>${escapeHtml(name)}</bdi></strong> <span class="mark">unverified</span>`;

/** The form that refuses the client's request. */
export const denyForm = (
  path: string,
  csrf: string,
  text: string,
) => `<form method="post" action="${escapeHtml(path)}/deny">
<input type="hidden" name="csrf" value="${csrf}">
<button type="submit" class="other">${text}</button>
</form>`;

/** The fields for the password and the code of a second factor. */
export const passwordFields = `<div class="field">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required maxlength="1024">
</div>
<div class="field">
<label for="otp">Code of your authenticator app</label>
<span class="hint" id="otp-hint">Leave this empty if you use none. A recovery code works, too.</span>
<input id="otp" name="otp" autocomplete="one-time-code" maxlength="100" aria-describedby="otp-hint">
</div>`;

/** A page that only says what is wrong. */
export function problemPage(
  status: number,
  title: string,
  text: string,
  headers: Record<string, string> = {},
): RawResult {
  return page(status, { title, content: `<p>${escapeHtml(text)}</p>`, headers });
}

const TITLES: Partial<Record<ErrorCode, string>> = {
  not_found: 'This request has ended',
  conflict: 'This request has ended',
  forbidden: 'This page is out of date',
  rate_limited: 'Too many requests',
  unavailable: 'The service is busy',
};

export function errorPage({ code, status, message, headers }: AppError): RawResult {
  return problemPage(status, TITLES[code] ?? 'Something is wrong', message, headers);
}

/** Sends the browser on, also after a form. */
export function redirectTo(location: string, headers: Record<string, string> = {}): RawResult {
  return {
    status: 303,
    raw: { contentType: 'text/plain; charset=utf-8', body: '' },
    headers: { ...HEADERS, ...headers, Location: location },
  };
}

/** The style sheet. */
export function styleSheet(): RawResult {
  return {
    status: 200,
    raw: { contentType: 'text/css; charset=utf-8', body: STYLE },
    headers: { 'Cache-Control': 'public, max-age=300' },
  };
}
