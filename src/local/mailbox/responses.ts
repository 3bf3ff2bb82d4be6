/** What a request is answered with. */
export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string | Buffer;
}

const ALWAYS = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'X-DNS-Prefetch-Control': 'off',
};

const NOTHING = "default-src 'none'; frame-ancestors 'none'";

/**
 * A page of ours.
 * @param nonce of its one style and one script; nothing else runs or is loaded but frames of the same origin
 */
export function page(status: number, body: string, nonce: string): Answer {
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
    ...ALWAYS,
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': policy,
    'X-Frame-Options': 'DENY',
    // Not `no-referrer`, with which browsers send forms from an origin `null`.
    'Referrer-Policy': 'same-origin',
  };
  return { status, headers, body };
}

/**
 * The HTML of a captured message. Whoever wrote it may have meant harm: no scripts, no forms, an origin of its own,
 * and nothing is loaded from anywhere, even when opened without the frame.
 */
export function preview(body: string): Answer {
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
    ...ALWAYS,
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': policy,
    'X-Frame-Options': 'SAMEORIGIN',
    'Referrer-Policy': 'no-referrer',
  };
  return { status: 200, headers, body };
}

/** A file to be saved, never shown; its name may hold anything. */
export function download(filename: string, body: Buffer): Answer {
  const plain = filename.replace(/[^\w. -]/g, '_').slice(0, 200);
  const exact = encodeURIComponent(filename.toWellFormed().slice(0, 200)).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  const headers = {
    ...ALWAYS,
    'Content-Type': 'application/octet-stream',
    'Content-Disposition': `attachment; filename="${plain}"; filename*=UTF-8''${exact}`,
    'Content-Security-Policy': `sandbox; ${NOTHING}`,
  };
  return { status: 200, headers, body };
}

export function json(status: number, value: unknown, extra: Record<string, string> = {}): Answer {
  const headers = {
    ...ALWAYS,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Security-Policy': NOTHING,
    ...extra,
  };
  return { status, headers, body: `${JSON.stringify(value)}\n` };
}

export function plainText(status: number, body: string, extra: Record<string, string> = {}): Answer {
  const headers = {
    ...ALWAYS,
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Security-Policy': NOTHING,
    ...extra,
  };
  return { status, headers, body: `${body}\n` };
}

/** @param location a path of ours */
export function seeOther(location: string, extra: Record<string, string> = {}): Answer {
  return plainText(303, `see ${location}`, { Location: location, ...extra });
}
