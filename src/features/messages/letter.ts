/** Makes letters of emails with files, several recipients or several addresses for replies. */
import type { NewLetter } from '../../delivery/ledger/accept/new-letter.ts';
import type { RecipientKind } from '../../delivery/terms/letter.ts';
import { foldedSize } from '../../platform/storage/folded.ts';
import type { MessageDraft } from './draft.ts';
import type { LetterRecipient } from './recipient-fields.ts';

/** A letter that passed all checks of its request, and its copies, the lead first. */
export interface LetterDraft {
  /** Its files are stored only once it may be sent. */
  letter: Omit<NewLetter, 'files'>;
  copies: { draft: MessageDraft; kind: RecipientKind }[];
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

/** @returns null if an email is an ordinary message, which needs no letter */
export function letterOf(
  { shared, recipients, replyTo }: EmailParts,
  files: readonly { size: number }[],
): LetterDraft | null {
  if (recipients.length < 2 && files.length === 0 && replyTo === null) return null;
  const { html = null, text = null, headers = null, ...others } = shared;
  const fields = [others.subject, ...recipients.map(({ address }) => address), ...(replyTo ?? [])];
  const wireBytes = wireBytesOf({ html, text, headers, fields, files });
  const copies = recipients.map(({ kind, address, key }) => ({
    kind,
    draft: { ...others, to_address: address, to_key: key },
  }));
  return { letter: { html, text, headers, replyTo, wireBytes, addresses: [] }, copies };
}
