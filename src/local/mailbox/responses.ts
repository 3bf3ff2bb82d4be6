import { create as contentDisposition } from 'content-disposition';
import type { RawResult } from '../../platform/http/reply.ts';

const MAX_FILENAME_LENGTH = 200;
const NOTHING = "default-src 'none'; frame-ancestors 'none'";

/** Headers of every response; pages, previews and downloads replace some. */
export const MAILBOX_HEADERS: Record<string, string> = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': NOTHING,
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'X-DNS-Prefetch-Control': 'off',
};

/**
 * A page of the mailbox.
 * @param nonce of its only style and script; the page loads nothing else except frames of the same origin
 */
export function page(status: number, body: string, nonce: string): RawResult {
  const policy = [
    "default-src 'none'",
    `style-src 'nonce-${nonce}'`,
    `script-src 'nonce-${nonce}'`,
    "connect-src 'self'",
    "frame-src 'self'",
    'img-src data:',
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  const headers = {
    'Content-Security-Policy': policy,
    'X-Frame-Options': 'DENY',
    // With `no-referrer`, browsers would send forms with the origin `null`.
    'Referrer-Policy': 'same-origin',
  };
  return { status, raw: { contentType: 'text/html; charset=utf-8', body }, headers };
}

/**
 * The HTML of a captured message, which may be hostile: it runs no scripts, sends no forms, has its own origin and
 * loads nothing, even if it is opened outside its frame.
 */
export function preview(body: string): RawResult {
  const policy = [
    'sandbox allow-popups allow-popups-to-escape-sandbox',
    "default-src 'none'",
    'img-src data:',
    "style-src 'unsafe-inline'",
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'self'",
  ].join('; ');
  const headers = {
    'Content-Security-Policy': policy,
    'X-Frame-Options': 'SAMEORIGIN',
    'Referrer-Policy': 'no-referrer',
  };
  return { status: 200, raw: { contentType: 'text/html; charset=utf-8', body }, headers };
}

/** A file that browsers save and never show. @param filename any text; senders choose it */
export function download(filename: string, body: Buffer): RawResult {
  const name = filename.slice(0, MAX_FILENAME_LENGTH).toWellFormed();
  const headers = {
    'Content-Disposition': contentDisposition(name, { fallback: name.replace(/[^\w. -]/g, '_') }),
    'Content-Security-Policy': `sandbox; ${NOTHING}`,
  };
  return { status: 200, raw: { contentType: 'application/octet-stream', body }, headers };
}

export function plainText(status: number, body: string, headers: Record<string, string> = {}): RawResult {
  return { status, raw: { contentType: 'text/plain; charset=utf-8', body: `${body}\n` }, headers };
}

/** @param location a path of the mailbox */
export function seeOther(location: string, headers: Record<string, string> = {}): RawResult {
  return plainText(303, `see ${location}`, { Location: location, ...headers });
}
