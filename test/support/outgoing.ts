import type { Disposition } from '../../src/delivery/terms/letter.ts';
import type {
  OutgoingEmail,
  OutgoingFile,
  OutgoingLetter,
  OutgoingSms,
} from '../../src/delivery/wire/adapters/port.ts';
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

export interface GivenFile {
  filename: string;
  contentType?: string;
  contentId?: string | null;
  disposition?: Disposition;
  content: Buffer | string;
}

export interface GivenLetter {
  recipient?: string;
  to?: string[];
  cc?: string[];
  replyTo?: string[];
  html?: string | null;
  text?: string;
  files?: GivenFile[];
  tags?: Record<string, string>;
  /** No file can be read. */
  unreadable?: boolean;
}

function outgoingFile(given: GivenFile, unreadable: boolean): OutgoingFile {
  const content = Buffer.from(given.content);
  return {
    filename: given.filename,
    contentType: given.contentType ?? 'application/octet-stream',
    contentId: given.contentId ?? null,
    disposition: given.disposition ?? 'attachment',
    size: content.length,
    base64() {
      if (unreadable) return Promise.reject(new Error('EIO'));
      return Promise.resolve(Buffer.from(content.toString('base64')));
    },
  };
}

/** A message of header fields, the text and the files, as long as a real one but without its structure. */
function letterLines({ to = [], cc = [], text = 'x', files = [] }: GivenLetter): Buffer {
  const folded = files.map(({ content }) =>
    Buffer.from(content)
      .toString('base64')
      .replace(/.{1,76}/g, '$&\r\n'),
  );
  const head = `To: ${to.join(',\r\n ')}\r\n${cc.length > 0 ? `Cc: ${cc.join(',\r\n ')}\r\n` : ''}Subject: x\r\n`;
  return Buffer.from([head, '\r\n', Buffer.from(text).toString('base64'), '\r\n', ...folded].join(''));
}

/** A copy of a letter in the form that a provider receives. Its message comes in pieces of odd lengths. */
export function outgoingLetter(given: GivenLetter = {}): OutgoingLetter & { bytes: Buffer } {
  const { recipient = 'reader@example.com', unreadable = false, html = null, text = 'x', tags = {} } = given;
  const lines = { to: [recipient], ...given };
  const bytes = letterLines(lines);
  const { built: _built, content, ...email } = outgoingEmail({ to: recipient, tags, subject: 'x' });
  return {
    ...email,
    content: { ...content, html, text },
    bytes,
    built: {
      size: bytes.length,
      smtpUtf8: false,
      eightBit: false,
      async *pieces() {
        for (let at = 0, size = 1; at < bytes.length; at += size, size = Math.min(size * 5 + 2, 65_536)) {
          if (unreadable && at > 0) throw new Error('EIO');
          yield Promise.resolve(bytes.subarray(at, at + size));
        }
      },
    },
    letter: {
      to: lines.to.map(address),
      cc: (given.cc ?? []).map(address),
      replyTo: (given.replyTo ?? []).map(address),
      files: (given.files ?? []).map((file) => outgoingFile(file, unreadable)),
    },
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
