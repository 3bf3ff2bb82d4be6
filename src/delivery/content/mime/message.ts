/**
 * Builds the bytes of an email (RFC 5322, 2045, 2046). `prepareContent` builds the parts that many recipients share;
 * `buildMessage` adds three fields and the signatures for each recipient. The same input always gives the same bytes,
 * because a message may be handed over again after a crash.
 */
import { hash } from 'node:crypto';
import type { EmailAddress } from '../../terms/addresses/email.ts';
import { relaxedBodyHash, relaxedField } from '../dkim/canonical.ts';
import type { DkimSigner, SignatureInput } from '../dkim/sign.ts';
import { encodeText, normalizeText } from './body-encoding.ts';
import {
  InvalidMessageError,
  formatAddressField,
  formatDateField,
  formatMessageIdField,
  formatTextField,
} from './header-fields.ts';
import { formatParameterized } from './parameters.ts';
import { isReservedHeader } from './reserved-headers.ts';
import { textFromHtml } from './text-from-html.ts';
import {
  type CanonicalBody,
  canonicalizeTracked,
  encodeTracked,
  shiftPlaces,
  type TokenPlaces,
  trackedBodyHash,
  writeTokens,
} from './tracked-body.ts';
import { type LinkTracking, type TrackedHtml, trackHtml } from './tracked-html.ts';

export interface EmailContent {
  subject: string;
  /** Null or empty: the message has only a text part. */
  html: string | null;
  /** Null: generated from `html`. Empty: the message has no text alternative. */
  text: string | null;
  from: EmailAddress;
  replyTo: EmailAddress | null;
  /** Other headers, already validated. If names differ only in case, the last one wins. */
  headers: Record<string, string>;
  feedbackId?: string;
  /** How the links in `html` are rewritten; by default they are not. */
  tracking?: LinkTracking | null;
}

/** Where the tracking tokens of a content go. */
export interface TokenContent {
  html: TrackedHtml;
  /** Positions in `PreparedContent.remainder`. */
  places: TokenPlaces;
}

/** Made by `prepareContent` for `buildMessage`; opaque to others. */
export interface PreparedContent {
  /** From or Reply-To needs SMTPUTF8. */
  readonly smtpUtf8: boolean;
  /** From, Reply-To, Subject, each with CRLF. */
  readonly opening: string;
  /** Everything after the recipient's own fields: other fields, the empty line, the body. */
  readonly remainder: Buffer;
  /** Computed for the first signature, then kept. */
  readonly signed: () => SharedSignatureInput;
  /** Null if the content has no tokens: the body is the same for all recipients. */
  readonly tracked: TokenContent | null;
}

export interface SharedSignatureInput {
  headerNames: readonly string[];
  /** The shared fields in the order of `headerNames`, relaxed, each with CRLF. */
  canonicalHeaders: string;
  /** If the body has tokens: the body to hash for each recipient. */
  body: { hash: string } | CanonicalBody;
}

export interface Recipient {
  to: EmailAddress;
  /** Without angle brackets. */
  messageId: string;
  /** Used for the Date field and the signatures. */
  date: Date;
  /** One for each slot, if the content has tokens. */
  tokens?: readonly string[];
}

export interface BuiltMessage {
  /** Every line, including the last, ends with CRLF. Not dot-stuffed. */
  readonly data: Buffer;
  /**
   * The same as a string of Latin-1 characters, if its lines have been checked: each ends with CRLF, and none begins
   * with a dot. Writing it is faster than writing `data`.
   */
  readonly text?: string;
  /** The server must offer SMTPUTF8 (RFC 6531). */
  smtpUtf8: boolean;
  /**
   * Whether it has bytes over 127, so that the server must offer 8BITMIME. Only with `smtpUtf8`, because bodies are
   * 7-bit.
   */
  eightBit: boolean;
}

/** The recipient's own fields in `h=`, in the order in which `buildMessage` writes them. To and Date are oversigned. */
const recipientSignedNames = ['To', 'To', 'Date', 'Date', 'Message-ID'];
const oversignedNames = ['From', 'Subject', 'Reply-To'];
const signedIfPresent = /^(?:mime-version|content-.*|list-unsubscribe|list-unsubscribe-post|feedback-id)$/i;

/**
 * Builds what the messages to all recipients share.
 * @throws InvalidMessageError if a header has a line break, or a reserved or malformed name
 */
export function prepareContent(content: EmailContent): PreparedContent {
  const body = buildBody(content);
  const openingFields = [
    formatAddressField('From', content.from),
    ...(content.replyTo ? [formatAddressField('Reply-To', content.replyTo)] : []),
    formatTextField('Subject', content.subject),
  ];
  const furtherFields = formatFurtherFields(content, body.fields);
  const furtherHead = `${furtherFields.join('\r\n')}\r\n\r\n`;
  const remainder = Buffer.from(furtherHead + body.content, 'latin1');
  let signed: SharedSignatureInput | undefined;
  return {
    smtpUtf8: content.from.smtpUtf8 || (content.replyTo?.smtpUtf8 ?? false),
    opening: `${openingFields.join('\r\n')}\r\n`,
    remainder,
    signed: () =>
      (signed ??= {
        ...signedHeaders([...openingFields, ...furtherFields]),
        body: canonicalBody(remainder.subarray(furtherHead.length), body.places ?? null),
      }),
    tracked:
      body.html && body.places
        ? { html: body.html, places: shiftPlaces(body.places, furtherHead.length) }
        : null,
  };
}

function canonicalBody(body: Buffer, places: TokenPlaces | null): SharedSignatureInput['body'] {
  return places ? canonicalizeTracked(body, places) : { hash: relaxedBodyHash(body) };
}

/**
 * Builds the message to one recipient.
 * @returns the message, or a promise of it if there are signers
 * @throws InvalidMessageError if Message-ID, date or address is not valid in a header
 */
export function buildMessage(
  prepared: PreparedContent,
  recipient: Recipient,
  signers: readonly DkimSigner[],
): BuiltMessage | Promise<BuiltMessage> {
  const fields = [
    formatAddressField('To', recipient.to),
    formatDateField(recipient.date),
    formatMessageIdField(recipient.messageId),
  ];
  const head = `${prepared.opening}${fields.join('\r\n')}\r\n`;
  const smtpUtf8 = prepared.smtpUtf8 || recipient.to.smtpUtf8;
  const { tokens = [] } = recipient;
  if (signers.length === 0) return assemble(prepared, head, smtpUtf8, tokens);
  return signFields(prepared, fields, recipient, signers).then((signatures) =>
    assemble(prepared, `${signatures}${head}`, smtpUtf8, tokens),
  );
}

function assemble(
  prepared: PreparedContent,
  head: string,
  smtpUtf8: boolean,
  tokens: readonly string[],
): BuiltMessage {
  const encoding = smtpUtf8 ? 'utf8' : 'latin1';
  const headLength = smtpUtf8 ? Buffer.byteLength(head) : head.length;
  const data = Buffer.allocUnsafe(headLength + prepared.remainder.length);
  data.write(head, encoding);
  prepared.remainder.copy(data, headLength);
  if (prepared.tracked) writeTokens(data, headLength, prepared.tracked.places, tokens);
  return { data, smtpUtf8, eightBit: smtpUtf8 };
}

async function signFields(
  prepared: PreparedContent,
  recipientFields: string[],
  { date, tokens = [] }: Recipient,
  signers: readonly DkimSigner[],
): Promise<string> {
  const { headerNames, canonicalHeaders, body } = prepared.signed();
  const bodyHash = 'hash' in body ? body.hash : trackedBodyHash(body, tokens);
  return signWith(signers, { headerNames, canonicalHeaders, recipientFields, bodyHash, signedAt: date });
}

/** What the signatures of a message cover. */
interface SignedMessage extends Pick<SignatureInput, 'bodyHash' | 'signedAt'> {
  headerNames: readonly string[];
  /** The fields after those of the recipient. */
  canonicalHeaders: string;
  /** To, Date and Message-ID. */
  recipientFields: readonly string[];
}

/** @returns the DKIM-Signature fields, each with CRLF */
export async function signWith(signers: readonly DkimSigner[], message: SignedMessage): Promise<string> {
  const { headerNames, canonicalHeaders, recipientFields, bodyHash, signedAt } = message;
  const ownHeaders = recipientFields.map((field) => `${relaxedField(field)}\r\n`).join('');
  const input = { headerNames, canonicalHeaders: ownHeaders + canonicalHeaders, bodyHash, signedAt };
  const signatures = await Promise.all(signers.map((signer) => signer.sign(input)));
  return signatures.map((signature) => `${signature}\r\n`).join('');
}

/**
 * Lists each oversigned name once more than it occurs, so that adding such a field breaks the signature.
 * @param fields the fields after the recipient's own
 * @param ownNames those of the recipient's own fields, and how often each is listed
 */
export function signedHeaders(
  fields: string[],
  ownNames: readonly string[] = recipientSignedNames,
): Omit<SharedSignatureInput, 'body'> {
  const names = [...ownNames];
  let canonicalHeaders = '';
  for (const field of fields) {
    const name = field.slice(0, field.indexOf(':'));
    if (!oversignedNames.includes(name) && !signedIfPresent.test(name)) continue;
    names.push(name);
    canonicalHeaders += `${relaxedField(field)}\r\n`;
  }
  return { headerNames: [...names, ...oversignedNames], canonicalHeaders };
}

/**
 * The fields between those of the recipient and the body.
 * @param bodyFields those that describe the body
 * @throws InvalidMessageError for a header that is malformed or reserved
 */
export function formatFurtherFields(
  { feedbackId, headers }: Pick<EmailContent, 'feedbackId' | 'headers'>,
  bodyFields: readonly string[],
): string[] {
  return [
    'MIME-Version: 1.0',
    ...bodyFields,
    ...(feedbackId === undefined ? [] : [formatTextField('Feedback-ID', feedbackId)]),
    ...formatClientHeaders(headers),
  ];
}

function formatClientHeaders(headers: Record<string, string>): string[] {
  const fields = new Map<string, string>();
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (isReservedHeader(lower)) throw new InvalidMessageError(`header ${JSON.stringify(name)} is reserved`);
    fields.set(lower, formatTextField(name, value));
  }
  return [...fields.values()];
}

export interface Part {
  fields: string[];
  content: string;
  /** Only if it has tokens. */
  html?: TrackedHtml;
  /** The positions of the tokens in `content`. */
  places?: TokenPlaces;
}

/** Builds a single part, or text and HTML as alternatives, with the richer one last (RFC 2046 §5.1.4). */
export function buildBody(content: EmailContent): Part {
  const { text, html } = buildTexts(content);
  if (text && html) return buildAlternative([text, html]);
  return endedByCrlf((html ?? text) as Part);
}

/** Builds the parts with what the content says: at least one of them. */
export function buildTexts(content: EmailContent): { text: Part | null; html: Part | null } {
  const html = content.html === null || content.html === '' ? null : content.html;
  const text = content.text ?? (html === null ? '' : textFromHtml(html));
  if (html === null) return { text: buildPart(textType, text), html: null };
  const htmlPart = buildHtmlPart(html, content);
  return { text: text === '' ? null : buildPart(textType, text), html: htmlPart };
}

export const textType = `Content-Type: ${formatParameterized('text/plain', { charset: 'utf-8' })}`;
export const htmlType = `Content-Type: ${formatParameterized('text/html', { charset: 'utf-8' })}`;

function buildPart(contentType: string, text: string): Part {
  const { transferEncoding, content } = encodeText(text);
  return { fields: [contentType, `Content-Transfer-Encoding: ${transferEncoding}`], content };
}

function buildHtmlPart(html: string, { headers, tracking }: EmailContent): Part {
  const tracked = tracking ? trackHtml(normalizeText(html), headers, tracking) : null;
  if (!tracked) return buildPart(htmlType, html);
  const { transferEncoding, content, places } = encodeTracked(tracked);
  const fields = [htmlType, `Content-Transfer-Encoding: ${transferEncoding}`];
  return { fields, content, html: tracked, places };
}

function endedByCrlf(part: Part): Part {
  return part.content.endsWith('\r\n') ? part : { ...part, content: `${part.content}\r\n` };
}

/**
 * The boundary is a hash of the parts: the same content always has the same one, and no part can contain it. Neither
 * can a token, because tokens have no equals sign.
 */
function buildAlternative(parts: Part[]): Part {
  const contents = parts.map((part) => `${part.content}\0`).join('');
  const boundary = `=_${hash('sha256', contents, 'hex').slice(0, 40)}`;
  const sections = parts.map(
    (part) => `--${boundary}\r\n${part.fields.join('\r\n')}\r\n\r\n${part.content}\r\n`,
  );
  const whole = {
    fields: [`Content-Type: multipart/alternative;\r\n boundary="${boundary}"`],
    content: `${sections.join('')}--${boundary}--\r\n`,
  };
  const last = parts.at(-1);
  if (!last?.html || !last.places) return whole;
  // The CRLF at the end of the section is not part of its content.
  const start = sections.join('').length - 2 - last.content.length;
  return { ...whole, html: last.html, places: shiftPlaces(last.places, start) };
}
