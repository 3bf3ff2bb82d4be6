/** Makes letters of emails with files, several recipients or several addresses for replies. */
import type { NewLetter, OpaqueBody } from '../../delivery/ledger/accept/new-letter.ts';
import type { RecipientKind } from '../../delivery/terms/letter.ts';
import { foldedSize } from '../../platform/storage/folded.ts';
import type { ReadFile } from '../attachments/service.ts';
import type { MessageDraft } from './draft.ts';
import type { LetterRecipient } from './recipient-fields.ts';

/** A letter that passed all checks of its request, and its copies, the lead first. */
export interface LetterDraft {
  /** Its files are stored only once it may be sent. */
  letter: Omit<NewLetter, 'files' | 'opaque'>;
  copies: { draft: MessageDraft; kind: RecipientKind }[];
  /** A body that passes as it is, in place of texts and files. */
  opaque?: OpaqueDraft | undefined;
}

/** A MIME body as a client wrote it. */
export interface OpaqueDraft extends Pick<OpaqueBody, 'fields'> {
  /** Its bytes. */
  body: ReadFile;
}

/** What a mail has beside the fields of a request. */
export interface MailParts extends Pick<NewLetter, 'addresses' | 'places'> {
  opaque: OpaqueDraft | null;
}

/** The header that Carillon writes, with its signatures. */
const HEADER_BYTES = 2_048;
/** Text in base64 or quoted-printable, with its line breaks. Most text needs far less. */
const TEXT_GROWTH = 1.4;
/** Encoded words, with their folding. */
const FIELD_GROWTH = 3;
/** The fields of a file's part: its name is there in two forms. */
const FILE_FIELDS = 1_400;

interface Sized {
  html?: string | null | undefined;
  text?: string | null | undefined;
  headers?: Record<string, string> | null | undefined;
  /** Subject, recipients and addresses for replies. */
  fields: readonly (string | null | undefined)[];
  files: readonly { size: number }[];
}

const bytes = (text: string | null | undefined) => Buffer.byteLength(text ?? '');

/** Returns an upper bound of the size of an email when it is sent, in bytes. */
export function wireBytesOf({ html, text, headers, fields, files }: Sized): number {
  const named = [...fields, ...Object.entries(headers ?? {}).flat()];
  const fieldBytes = named.reduce((sum, field) => sum + bytes(field), 0);
  const fileBytes = files.reduce((sum, { size }) => sum + foldedSize(size) + FILE_FIELDS, 0);
  const texts = Math.ceil(TEXT_GROWTH * (bytes(html) + bytes(text)));
  return HEADER_BYTES + FIELD_GROWTH * fieldBytes + texts + fileBytes;
}

/** What an email has beside its recipients. */
export interface EmailParts {
  /** The columns that the rows of all recipients have in common. */
  shared: Omit<MessageDraft, 'to_address' | 'to_key'>;
  /** In the order of the header. */
  recipients: readonly LetterRecipient[];
  /** Several addresses for replies; null: `shared` has the only one. */
  replyTo: string[] | null;
}

/** Whether an ordinary message would have another header than the mail, or another body. */
const isMore = ({ addresses, opaque }: MailParts, recipients: readonly LetterRecipient[]): boolean =>
  opaque !== null || addresses.length > 0 || recipients[0]?.kind !== 'to';

/** What the copies of a letter share. */
function sharedPart(
  { shared, recipients, replyTo }: EmailParts,
  files: readonly { size: number }[],
  { addresses, places, opaque }: Partial<MailParts>,
): LetterDraft['letter'] {
  const { html = null, text = null, headers = null } = shared;
  const named = [...recipients, ...(addresses ?? [])].map(({ address }) => address);
  const fields = [shared.subject, ...named, ...(replyTo ?? []), ...(opaque?.fields.flat() ?? [])];
  const content = opaque ? { html: null, text: null } : { html, text };
  const wireBytes = wireBytesOf({ ...content, headers, fields, files }) + (opaque?.body.size ?? 0);
  return { ...content, headers, replyTo, wireBytes, addresses: addresses ?? [], ...(places && { places }) };
}

/**
 * @param mail of an email that was submitted as a mail
 * @returns null if an email is an ordinary message, which needs no letter
 */
export function letterOf(
  parts: EmailParts,
  files: readonly { size: number }[],
  mail: MailParts | null = null,
): LetterDraft | null {
  const { shared, recipients, replyTo } = parts;
  const isLetter = recipients.length > 1 || files.length > 0 || replyTo !== null;
  if (!isLetter && !(mail && isMore(mail, recipients))) return null;
  const { html: _html, text: _text, headers: _headers, ...others } = shared;
  const copies = recipients.map(({ kind, address, key }) => ({
    kind,
    draft: { ...others, to_address: address, to_key: key },
  }));
  const opaque = mail?.opaque ?? null;
  return { letter: sharedPart(parts, files, mail ?? {}), copies, ...(opaque && { opaque }) };
}
