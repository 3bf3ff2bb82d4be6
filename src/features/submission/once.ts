/** Recognizes a mail that a program submits again, such as because it has not read the reply. */
import { createHash } from 'node:crypto';
import type { MailToSend } from '../messages/service.ts';
import type { SubmittedMail } from '../../delivery/wire/submission/port.ts';

/** The key space of submitted mail, which no event and no field shows. */
const ENDPOINT = 'SMTP submission';

type Keys = Pick<MailToSend, 'key' | 'hiddenKey' | 'fingerprint'>;

/**
 * The same Message-ID with the same recipients and bytes is the same letter. Without a Message-ID, none is.
 * @param chosen the key that the mail names itself, in the space of requests
 */
export function keysOf(
  { recipients, mail }: Pick<SubmittedMail, 'recipients' | 'mail'>,
  messageId: string | null,
  chosen: string | null,
): Keys {
  if (messageId === null && chosen === null) return { key: null, fingerprint: null };
  const parts = [...recipients.map(({ key }) => key).sort(), mail.digest.toString('hex')];
  if (chosen !== null) return { key: chosen, fingerprint: hashOf(parts) };
  const fingerprint = hashOf([messageId ?? '', ...parts]);
  const key = fingerprint.toString('base64url');
  return { key: null, hiddenKey: { endpoint: ENDPOINT, key }, fingerprint };
}

const hashOf = (parts: readonly string[]) => createHash('sha256').update(parts.join('\0')).digest();
