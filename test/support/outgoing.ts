import type { OutgoingEmail, OutgoingSms } from '../../src/delivery/wire/adapters/port.ts';
import { parseEmailAddress } from '../../src/delivery/terms/addresses/email.ts';

function address(text: string) {
  const parsed = parseEmailAddress(text);
  if ('error' in parsed) throw new Error(`${text} ${parsed.error}`);
  return parsed;
}

/** An email in the form that a provider receives. */
export function outgoingEmail(
  given: Partial<Omit<OutgoingEmail, 'built'>> & { data?: Buffer | string } = {},
): OutgoingEmail {
  const { data = 'Subject: x\r\n\r\nx\r\n', ...rest } = given;
  const from = rest.from ?? 'hello@carillon.localhost';
  const subject = rest.subject ?? '';
  return {
    messageId: 1,
    attempt: 1,
    returnPath: 'bounces@carillon.localhost',
    to: 'reader@example.com',
    from,
    subject,
    tags: {},
    reference: '1-1-AAAAAAAAAAAAAAAAAAAAAA',
    content: { subject, html: null, text: 'x', from: address(from), replyTo: null, headers: {} },
    built: { data: Buffer.from(data), smtpUtf8: false, eightBit: false },
    ...rest,
  };
}

/** An SMS in the form that a provider receives. */
export function outgoingSms(given: Partial<OutgoingSms> = {}): OutgoingSms {
  return {
    messageId: 1,
    attempt: 1,
    from: null,
    reference: '1-1-AAAAAAAAAAAAAAAAAAAAAA',
    to: '+4915112345678',
    text: 'Your code is 1234',
    segments: 1,
    ...given,
  };
}
