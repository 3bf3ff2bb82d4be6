import type { SmtpCapabilities } from './contract.ts';
import type { SmtpReply } from './reply-parser.ts';

/** What EHLO offered, with what only the handshake needs. */
export interface Offer extends SmtpCapabilities {
  startTls: boolean;
  /** SASL mechanisms in capitals. */
  auth: ReadonlySet<string>;
}

/** Read the reply to EHLO (RFC 5321 §4.1.1.1): its first line greets, each further one is a keyword with parameters. */
export function readOffer(reply: SmtpReply): Offer {
  const keywords = new Map<string, string>();
  const auth = new Set<string>();
  for (const line of reply.text.split('\n').slice(1)) {
    // Some servers write the obsolete `AUTH=PLAIN`, often beside the proper form.
    const [keyword = '', ...parameters] = line.trim().toUpperCase().split(/[ =]+/);
    keywords.set(keyword, parameters[0] ?? '');
    if (keyword === 'AUTH') for (const mechanism of parameters) auth.add(mechanism);
  }
  const size = keywords.get('SIZE');
  return {
    pipelining: keywords.has('PIPELINING'),
    size: size === undefined ? null : /^\d{1,15}$/.test(size) ? Number(size) : 0,
    smtpUtf8: keywords.has('SMTPUTF8'),
    eightBitMime: keywords.has('8BITMIME'),
    dsn: keywords.has('DSN'),
    startTls: keywords.has('STARTTLS'),
    auth,
  };
}
