/** Whether the body of a request is a mail, so that nothing else becomes an empty message. */
import type { IncomingHttpHeaders } from 'node:http';
import { AppError, invalid } from '../../../errors.ts';

/** The types under which programs send raw mail. The last is the one that curl gives to every body. */
const MAIL_TYPES =
  /^(?:message\/[\w.+-]+|text\/plain|application\/(?:octet-stream|mbox)|application\/x-www-form-urlencoded)\s*(?:;|$)/i;
const FORM = /^application\/x-www-form-urlencoded/i;

/** A mail has one of these fields, in whatever order (RFC 5322, RFC 2045). */
const FIELDS = new Set(
  (
    'from sender reply-to to cc subject date message-id in-reply-to references received return-path delivered-to ' +
    'mime-version content-type content-transfer-encoding dkim-signature authentication-results'
  ).split(' '),
);
const FIELD = /^([!-9;-~]{1,200})[ \t]*:/;
const MAX_HEADER_BYTES = 64 * 1024;

function isMail(head: Buffer): boolean {
  const lines = head.toString('latin1', 0, MAX_HEADER_BYTES).split(/\r?\n/);
  // Some programs that pipe mail add the line that separates mails in an mbox file.
  if (/^>?From /.test(lines[0] ?? '')) lines.shift();
  const [first = ''] = lines;
  // Lines that end with CR alone would all be one field. Several CRs before LF are a line end.
  if (!FIELD.test(first) || /\r[^\r]/.test(first)) return false;
  const end = lines.indexOf('');
  const names = lines
    .slice(0, end === -1 ? undefined : end)
    .map((line) => FIELD.exec(line)?.[1]?.toLowerCase());
  return names.some((name) => name !== undefined && FIELDS.has(name));
}

/**
 * Refuses a body that is announced as something else, before it is read.
 * @throws AppError unsupported_media_type
 */
export function requireMailType(headers: IncomingHttpHeaders): void {
  const { 'content-type': type = '', 'content-encoding': encoding = 'identity' } = headers;
  if (type !== '' && !MAIL_TYPES.test(type))
    throw new AppError(
      'unsupported_media_type',
      'Content-Type must be message/rfc822: the body is a raw mail',
    );
  if (encoding !== 'identity')
    throw new AppError('unsupported_media_type', `Content-Encoding ${encoding} is not accepted`);
}

/**
 * Refuses a body that does not begin with the header of a mail.
 * @param head the beginning of the body
 * @throws AppError validation_error; unsupported_media_type if the body is announced as a form
 */
export function requireMail(head: Buffer, { 'content-type': type = '' }: IncomingHttpHeaders): void {
  if (isMail(head)) return;
  if (FORM.test(type))
    throw new AppError(
      'unsupported_media_type',
      'the body is a form; it must be a raw mail, as message/rfc822',
    );
  const problem = head.length === 0 ? 'is empty' : 'does not begin with the header of a mail (RFC 5322)';
  throw invalid({ body: [problem] });
}
