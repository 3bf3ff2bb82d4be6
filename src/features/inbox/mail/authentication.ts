import type { MailAuthentication } from './mail.ts';

/** The results for a mail that was not authenticated. */
export function unauthenticated(): MailAuthentication {
  return {
    spf: { result: 'none', domain: null },
    dkim: { result: 'none', domain: null },
    dmarc: { result: 'none', domain: null, policy: null },
    arc: { result: 'none', domain: null },
    aligned: false,
  };
}
