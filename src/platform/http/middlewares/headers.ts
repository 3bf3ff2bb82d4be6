import type { Middleware } from '../context.ts';

const SECURITY_HEADERS: Record<string, string> = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
};

/** @param https whether clients use https, so that browsers may be made to insist on it */
export function securityHeaders(https: boolean): Record<string, string> {
  if (!https) return SECURITY_HEADERS;
  return { ...SECURITY_HEADERS, 'Strict-Transport-Security': 'max-age=31536000; includeSubDomains' };
}

/**
 * Sets the headers of every response, errors included. A route's own header of the same name replaces them.
 *
 * Calls `res.setHeader` itself: `ctx.set` adds its own checks to each header of each response.
 */
export function headers(values: Record<string, string>): Middleware {
  const entries = Object.entries(values);
  return function headers({ res }, next) {
    for (const [name, value] of entries) res.setHeader(name, value);
    return next();
  };
}
