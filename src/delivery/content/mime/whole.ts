/**
 * Builds letters: emails with files, or with several addresses in their header. The files are references, because they
 * may be larger than everything else together: the storage has them as they stand in the message, in base64 and in
 * lines. `whole-body.ts` reads them when the message is signed and when it is sent. The same letter always has the same
 * bytes, except for the tracking tokens of each copy.
 */
import { createHash } from 'node:crypto';
import { foldedSize } from '../../../platform/storage/folded.ts';
import type { EmailAddress } from '../../terms/addresses/email.ts';
import type { AttachmentFields, LetterFile } from '../../terms/letter.ts';
import { relaxedBody, squeezeSpace } from '../dkim/canonical.ts';
import { namedContentIds } from './content-ids.ts';
import {
  formatAddressField,
  formatAddressesField,
  formatTextField,
  InvalidMessageError,
} from './header-fields.ts';
import {
  buildBody,
  buildTexts,
  type EmailContent,
  formatFurtherFields,
  type Part,
  signedHeaders,
  type TokenContent,
} from './message.ts';
import { formatNamed, formatParameterized, invitationMethod, parseMediaType } from './parameters.ts';
import { canonicalizeTracked, shiftPlaces, type TokenPlaces } from './tracked-body.ts';
import type { TrackedHtml } from './tracked-html.ts';

/** What a letter has beside the content of an email. */
export interface WholeLetter {
  /** Who stands in the header. */
  to: readonly EmailAddress[];
  cc: readonly EmailAddress[];
  /** All addresses for replies; `EmailContent.replyTo` is not read. */
  replyTo: readonly EmailAddress[];
  files: readonly LetterFile[];
}

export interface WholeContent extends EmailContent {
  letter: WholeLetter;
}

/** Made by `prepareWhole`, for all copies of a letter. Plain data, so that a thread can return it. */
export interface PreparedWhole {
  readonly smtpUtf8: boolean;
  /** From, Reply-To, Subject, To and Cc, each with CRLF. */
  readonly opening: string;
  /**
   * Everything after the fields that each copy adds: text n is before file n, and the last one ends the message. The
   * first begins with the other fields and the empty line.
   */
  readonly texts: readonly Uint8Array[];
  /** The files in the order in which they stand in the message. */
  readonly files: readonly LetterFile[];
  /** Bytes of texts and files. */
  readonly size: number;
  readonly signed: SignedWhole;
  /** Null if the letter has no tokens. Their places are positions in the first text. */
  readonly tracked: TokenContent | null;
}

/** What signatures of a letter cover. */
export interface SignedWhole {
  headerNames: readonly string[];
  /** To and Cc, not relaxed. */
  recipientFields: readonly string[];
  /** The fields after those of the copy, relaxed, each with CRLF. */
  canonicalHeaders: string;
  /** As `PreparedWhole.texts`, without the header. A file is in canonical form as it is. */
  texts: readonly Uint8Array[];
  /** In the first of these texts. */
  places: TokenPlaces | null;
}

/** A text, or a file. */
type Segment = string | LetterFile;

/** A part whose segments end with CRLF, before the next boundary. */
interface WholePart {
  fields: string[];
  segments: Segment[];
  /** Only if it has tokens, all of them in the first segment. */
  html?: TrackedHtml;
  places?: TokenPlaces;
}

/**
 * Builds what the copies of a letter share.
 * @throws InvalidMessageError if a header is malformed, reserved or begins with a dot, or if a media type is malformed
 */
export function prepareWhole(content: WholeContent): PreparedWhole {
  const { letter } = content;
  const body = letter.files.length === 0 ? wholePart(buildBody(content)) : buildWithFiles(content);
  const openingFields = formatOpening(content);
  const recipientFields = formatRecipients(letter);
  const furtherFields = formatFurtherFields(content, body.fields);
  const suspect = furtherFields.find((field) => field.startsWith('.'));
  if (suspect !== undefined) {
    throw new InvalidMessageError(`a letter cannot have the header ${JSON.stringify(suspect.split(':')[0])}`);
  }
  const head = `${furtherFields.join('\r\n')}\r\n\r\n`;
  const bodyTexts = textsOf(body.segments);
  const files = body.segments.filter((segment) => typeof segment !== 'string');
  const texts = bodyTexts.map((text, n) => Buffer.from(n === 0 ? head + text : text, 'latin1'));
  const { from, replyTo, to, cc } = { from: content.from, ...letter };
  return {
    smtpUtf8: [from, ...replyTo, ...to, ...cc].some(({ smtpUtf8 }) => smtpUtf8),
    opening: [...openingFields, ...recipientFields].map((field) => `${field}\r\n`).join(''),
    texts,
    files,
    size: sum(texts.map(({ length }) => length)) + sum(files.map(({ size }) => foldedSize(size))),
    signed: {
      ...signedHeaders([...openingFields, ...furtherFields], ownNames(recipientFields)),
      recipientFields,
      ...canonicalTexts(bodyTexts, body.places ?? null),
    },
    tracked:
      body.html && body.places ? { html: body.html, places: shiftPlaces(body.places, head.length) } : null,
  };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

export function formatOpening({ from, subject, letter: { replyTo } }: WholeContent): string[] {
  return [
    formatAddressField('From', from),
    ...(replyTo.length > 0 ? [formatAddressesField('Reply-To', replyTo)] : []),
    formatTextField('Subject', subject),
  ];
}

/** Without any recipient who may be shown, the field says so (RFC 5322 §3.4), because some servers require one. */
export function formatRecipients({ to, cc }: WholeLetter): string[] {
  if (to.length === 0 && cc.length === 0) return ['To: undisclosed-recipients:;'];
  return [
    ...(to.length > 0 ? [formatAddressesField('To', to)] : []),
    ...(cc.length > 0 ? [formatAddressesField('Cc', cc)] : []),
  ];
}

/** To, Cc and Date are oversigned. */
export function ownNames(recipientFields: readonly string[]): string[] {
  const has = (name: string) => recipientFields.some((field) => field.startsWith(`${name}:`));
  const recipients = ['To', 'Cc'].flatMap((name) => (has(name) ? [name, name] : [name]));
  return [...recipients, 'Date', 'Date', 'Message-ID'];
}

/** Joins the segments between files. The first and the last segment are texts. */
function textsOf(segments: readonly Segment[]): string[] {
  const texts = [''];
  for (const segment of segments) {
    if (typeof segment === 'string') texts.push((texts.pop() ?? '') + segment);
    else texts.push('');
  }
  return texts;
}

function canonicalTexts(
  texts: readonly string[],
  places: TokenPlaces | null,
): Pick<SignedWhole, 'texts' | 'places'> {
  const canonicalOf = (text: Buffer, n: number): string =>
    n === texts.length - 1 ? relaxedBody(text) : squeezeSpace(text.toString('latin1'));
  const bytes = texts.map((text) => Buffer.from(text, 'latin1'));
  const canonical = bytes.map((text, n) =>
    places && n === 0 ? text : Buffer.from(canonicalOf(text, n), 'latin1'),
  );
  if (!places || !bytes[0]) return { texts: canonical, places: null };
  const first = canonicalizeTracked(bytes[0], places, (rest) => canonicalOf(rest, 0));
  return { texts: [first.body, ...canonical.slice(1)], places: first.places };
}

/** A part of `message.ts`, with the CRLF before a boundary. */
function wholePart({ fields, content, html, places }: Part, end = ''): WholePart {
  return { fields, segments: [content + end], ...(html && places ? { html, places } : {}) };
}

/**
 * mixed (alternative (text, related (HTML, files that it names), invitation), other files). A level with a single part
 * is left out.
 */
function buildWithFiles(content: WholeContent): WholePart {
  const { files } = content.letter;
  const { text, html } = buildTexts(content);
  const named = html ? namedContentIds(content.html) : new Set<string>();
  const invitation = files.find(isInvitation);
  const related = files.filter((file) => file !== invitation && named.has(file.contentId ?? ''));
  const others = files.filter((file) => file !== invitation && !related.includes(file));
  const alternatives = [
    ...(text ? [wholePart(text, '\r\n')] : []),
    ...(html ? [multipart('related', [wholePart(html, '\r\n'), ...related.map(filePart)], relatedType)] : []),
    ...(invitation ? [invitationPart(invitation)] : []),
  ];
  return multipart('mixed', [multipart('alternative', alternatives), ...others.map(filePart)]);
}

/** RFC 2387 §3.1: the type of the first part. */
const relatedType = { type: 'text/html' };

const isInvitation = ({ contentType }: AttachmentFields): boolean => invitationMethod(contentType) !== null;

function mediaTypeOf(contentType: string): NonNullable<ReturnType<typeof parseMediaType>> {
  const parsed = parseMediaType(contentType);
  if (!parsed)
    throw new InvalidMessageError(`the type ${JSON.stringify(contentType)} of a file is malformed`);
  return parsed;
}

/** An alternative of the text: as an attachment, clients would not show it as an invitation. */
function invitationPart(file: LetterFile): WholePart {
  const { type, parameters } = mediaTypeOf(file.contentType);
  const fields = [
    `Content-Type: ${formatNamed(type, { charset: 'utf-8', ...parameters }, file.filename)}`,
    'Content-Transfer-Encoding: base64',
  ];
  return { fields, segments: [file] };
}

function filePart(file: LetterFile): WholePart {
  const { contentType, contentId, disposition, filename } = file;
  const { type, parameters } = mediaTypeOf(contentType);
  const fields = [
    `Content-Type: ${formatNamed(type, parameters, filename)}`,
    'Content-Transfer-Encoding: base64',
    `Content-Disposition: ${formatParameterized(disposition, { filename })}`,
    ...(contentId === null ? [] : [formatContentId(contentId)]),
  ];
  return { fields, segments: [file] };
}

function formatContentId(contentId: string): string {
  if (!/^[!-;=?-~]{1,900}$/.test(contentId)) throw new InvalidMessageError('a Content-ID is not valid');
  return `Content-ID: <${contentId}>`;
}

/** @returns a single part itself */
function multipart(
  subtype: string,
  parts: readonly WholePart[],
  parameters: Record<string, string> = {},
): WholePart {
  const [only] = parts;
  if (only && parts.length === 1) return only;
  const boundary = boundaryOf(subtype, parts);
  const segments: Segment[] = [];
  let tokens: Pick<WholePart, 'html' | 'places'> = {};
  let textLength = 0;
  for (const part of parts) {
    const opening = `--${boundary}\r\n${part.fields.join('\r\n')}\r\n\r\n`;
    textLength += opening.length;
    // Text and HTML come before the files, so the positions are in the first text.
    if (part.html && part.places) tokens = { html: part.html, places: shiftPlaces(part.places, textLength) };
    segments.push(opening, ...part.segments);
    textLength += sum(part.segments.map((segment) => (typeof segment === 'string' ? segment.length : 0)));
  }
  segments.push(`--${boundary}--\r\n`);
  const type = formatParameterized(`multipart/${subtype}`, { ...parameters, boundary });
  return { fields: [`Content-Type: ${type}`], segments, ...tokens };
}

/**
 * A hash of the parts: the same letter always has the same boundaries, and no part can contain one. Neither can a
 * token, or a file in base64.
 */
function boundaryOf(subtype: string, parts: readonly WholePart[]): string {
  const digest = createHash('sha256').update(subtype);
  for (const { fields, segments } of parts) {
    digest.update(`\0${fields.join('\r\n')}`);
    for (const segment of segments)
      digest.update(`\0${typeof segment === 'string' ? segment : segment.sha256}`);
  }
  return `=_${digest.digest('hex').slice(0, 40)}`;
}
