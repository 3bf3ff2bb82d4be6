/**
 * Builds messages that share a content and differ only in some values. Links are found, and constant parts are encoded,
 * only once. Each value is encoded separately, between soft line breaks of quoted-printable. `message.ts` builds
 * messages with the same decoded content, but repeats all the work for each.
 */
import { hash } from 'node:crypto';
import type { EmailAddress } from '../../terms/addresses/email.ts';
import { squeezeSpace } from '../dkim/canonical.ts';
import type { DkimSigner } from '../dkim/sign.ts';
import { isShorterInBase64, normalizeText, toBase64Lines } from '../mime/body-encoding.ts';
import { type DividedPart, dividedHtml, dividedText, type SharedTexts } from './divided-parts.ts';
import {
  formatAddressField,
  formatDateField,
  formatMessageIdField,
  formatTextField,
} from '../mime/header-fields.ts';
import { type BuiltMessage, htmlType, signedHeaders, signWith, textType } from '../mime/message.ts';
import { encodeInsertion, QuotedPrintableEncoder } from '../mime/quoted-printable.ts';
import { isInsertable, type Piece, RECIPIENT } from './slotted.ts';
import { isSuspect, TextMessage } from '../mime/text-message.ts';

/** What all recipients share. */
export interface SkeletonContent extends SharedTexts {
  /** Numbers of the values of `text` that are links to unsubscribe or to the preference page. */
  ownTextLinks: ReadonlySet<number>;
  from: EmailAddress;
  replyTo: EmailAddress | null;
  headers: Record<string, string>;
  feedbackId: string;
}

/** What differs for each recipient. */
export interface SkeletonRecipient {
  to: EmailAddress;
  /** Without angle brackets. */
  messageId: string;
  date: Date;
  subject: string;
  headers: Record<string, string>;
  /** Values of the texts, escaped if they are for HTML. */
  html: readonly string[];
  text: readonly string[];
  /** The recipient's token in tracked links; empty without tracking. */
  recipientToken: string;
}

/** Encoded constant texts, and what goes between them: a value by its number, or the recipient's token. */
interface Encoded {
  constants: readonly string[];
  /**
   * The constants in the canonical form that is signed. Each can be canonicalized separately, because no white space
   * ends at a value or surrounds a token.
   */
  canonical: readonly string[];
  slots: readonly number[];
}

/** The constants of a body that is sent, or of the body that is signed. */
type Form = 'constants' | 'canonical';

interface EncodedPart {
  field: string;
  pieces: readonly Piece[];
  encoded: Encoded;
  encodeValues: (values: readonly string[], token: string) => string[];
}

/** A part in base64, which cannot be divided: its only value is the whole part. */
const WHOLE: Encoded = { constants: ['', ''], canonical: ['', ''], slots: [0] };

/** The last line of a part must not end with a soft break, which follows each value (RFC 2045 §6.7). */
const endedByConstant = (pieces: readonly Piece[]): readonly Piece[] =>
  pieces.length > 1 && pieces.at(-1) === '' ? [...pieces.slice(0, -1), '\r\n'] : pieces;

/**
 * Encodes the constant pieces. Values are inserted between soft breaks; the token has a known length and needs none.
 */
function encodePieces(given: readonly Piece[], tokenLength: number): Encoded | null {
  const pieces = endedByConstant(given);
  const bytes = Buffer.from(pieces.filter((piece) => typeof piece === 'string').join(''));
  const encoder = new QuotedPrintableEncoder(bytes);
  const constants: string[] = [];
  const slots: number[] = [];
  let done = 0;
  let taken = 0;
  for (const piece of pieces) {
    if (typeof piece === 'string') {
      encoder.encode(done, (done += Buffer.byteLength(piece)));
      continue;
    }
    if (piece === RECIPIENT) encoder.leaveRoom(tokenLength);
    else encoder.breakLine();
    constants.push(encoder.toString(taken));
    taken = encoder.length;
    slots.push(piece);
  }
  constants.push(encoder.toString(taken));
  if (isShorterInBase64(encoder.length, bytes)) return null;
  return { constants, canonical: constants.map(squeezeSpace), slots };
}

function encodePart(type: string, pieces: readonly Piece[], tokenLength: number): EncodedPart {
  const encoded = encodePieces(pieces, tokenLength);
  return {
    field: `${type}\r\nContent-Transfer-Encoding: ${encoded ? 'quoted-printable' : 'base64'}`,
    pieces,
    encoded: encoded ?? WHOLE,
    encodeValues: (values, token) => {
      const texts = values.map(normalizeText);
      return encoded
        ? texts.map(encodeInsertion)
        : [toBase64Lines(Buffer.from(joinPieces(pieces, texts, token)))];
    },
  };
}

function fill(encoded: Encoded, form: Form, values: readonly string[], token: string): string {
  const { [form]: constants, slots } = encoded;
  let result = constants[0] ?? '';
  for (let n = 0; n < slots.length; n += 1) {
    const slot = slots[n] ?? RECIPIENT;
    result += (slot === RECIPIENT ? token : (values[slot] ?? '')) + (constants[n + 1] ?? '');
  }
  return result;
}

/** The text before its encoding. */
function joinPieces(pieces: readonly Piece[], values: readonly string[], token: string): string {
  let result = '';
  for (const piece of pieces) {
    if (typeof piece === 'string') result += piece;
    else result += piece === RECIPIENT ? token : (values[piece] ?? '');
  }
  return result;
}

/** The messages of one content. */
export class Skeleton {
  readonly #opening: string[];
  readonly #further: string[];
  readonly #smtpUtf8: boolean;
  readonly #hasParameters: boolean;
  readonly #ownTextLinks: ReadonlySet<number>;
  readonly #text: EncodedPart;
  readonly #html: EncodedPart;
  readonly #completeText: DividedPart['complete'];
  readonly #completeHtml: DividedPart['complete'];
  /** The delimiters before the text, before the HTML, and at the end. */
  readonly #frame: readonly [string, string, string];
  /** Whether a constant part has a line for which the message must be scanned before it is sent. */
  readonly #isSuspect: boolean;

  constructor(content: SkeletonContent, text: DividedPart, html: DividedPart) {
    this.#text = encodePart(textType, text.pieces, 0);
    this.#html = encodePart(htmlType, html.pieces, content.tracking?.recipientLength ?? 0);
    this.#completeText = text.complete;
    this.#completeHtml = html.complete;
    // No part contains these two characters in a row, because both encodings use the equals sign for something else.
    const boundary = `=_${hash('sha256', JSON.stringify([text.pieces, html.pieces]), 'hex').slice(0, 40)}`;
    this.#frame = [
      `--${boundary}\r\n${this.#text.field}\r\n\r\n`,
      `\r\n--${boundary}\r\n${this.#html.field}\r\n\r\n`,
      `\r\n--${boundary}--\r\n`,
    ];
    const constants = [...this.#frame, ...this.#text.encoded.constants, ...this.#html.encoded.constants];
    this.#isSuspect = constants.some(isSuspect);
    const { from, replyTo, parameters } = content;
    this.#hasParameters = parameters.length > 0;
    this.#ownTextLinks = content.ownTextLinks;
    this.#smtpUtf8 = from.smtpUtf8 || (replyTo?.smtpUtf8 ?? false);
    this.#opening = [
      formatAddressField('From', from),
      ...(replyTo ? [formatAddressField('Reply-To', replyTo)] : []),
    ];
    this.#further = [
      'MIME-Version: 1.0',
      `Content-Type: multipart/alternative;\r\n boundary="${boundary}"`,
      formatTextField('Feedback-ID', content.feedbackId),
      ...Object.entries(content.headers).map(([name, value]) => formatTextField(name, value)),
    ];
  }

  /**
   * Builds the message to one recipient.
   * @returns the message, or a promise of it if there are signers; null if a value cannot be encoded separately
   * @throws InvalidMessageError if the subject, Message-ID, date or address are not valid in a header
   */
  build(
    recipient: SkeletonRecipient,
    signers: readonly DkimSigner[],
  ): BuiltMessage | Promise<BuiltMessage> | null {
    const { to, headers, date, recipientToken } = recipient;
    // In the plain way, a link in a value gets the parameters, too, unless it points to one of Carillon's own pages.
    if (
      this.#hasParameters &&
      recipient.text.some((value, n) => value.includes('://') && !this.#ownTextLinks.has(n))
    ) {
      return null;
    }
    const text = this.#completeText(recipient.text, '');
    const html = this.#completeHtml(recipient.html, recipientToken);
    if (!text?.every(isInsertable) || !html?.every(isInsertable)) return null;
    const texts = this.#text.encodeValues(text, '');
    const htmls = this.#html.encodeValues(html, recipientToken);
    const own = [
      formatAddressField('To', to),
      formatDateField(date),
      formatMessageIdField(recipient.messageId),
    ];
    const opening = [...this.#opening, formatTextField('Subject', recipient.subject)];
    const further = Object.entries(headers).map(([name, value]) => formatTextField(name, value));
    const head = `${[...opening, ...own, ...further, ...this.#further].join('\r\n')}\r\n\r\n`;
    const smtpUtf8 = this.#smtpUtf8 || to.smtpUtf8;
    const isText = !smtpUtf8 && !this.#isSuspect && !isSuspect(head);
    const body = this.#body('constants', texts, htmls, recipientToken);
    const finish = (signatures: string): BuiltMessage => {
      const whole = signatures + head + body;
      if (isText) return new TextMessage(whole);
      return { data: Buffer.from(whole, smtpUtf8 ? 'utf8' : 'latin1'), smtpUtf8, eightBit: smtpUtf8 };
    };
    if (signers.length === 0) return finish('');
    const canonical = this.#body(
      'canonical',
      texts.map(squeezeSpace),
      htmls.map(squeezeSpace),
      recipientToken,
    );
    const bodyHash = hash('sha256', canonical, 'base64');
    const signed = signedHeaders([...opening, ...further, ...this.#further]);
    return signWith(signers, { ...signed, recipientFields: own, bodyHash, signedAt: date }).then(finish);
  }

  /** The HTML of a recipient. */
  html({ html, recipientToken }: SkeletonRecipient): string {
    return joinPieces(this.#html.pieces, this.#completeHtml(html, recipientToken) ?? html, recipientToken);
  }

  /** The text of a recipient. */
  text({ text }: SkeletonRecipient): string {
    return joinPieces(this.#text.pieces, this.#completeText(text, '') ?? text, '');
  }

  /** @param text its encoded values. The frame is the same in both forms. */
  #body(form: Form, text: readonly string[], html: readonly string[], recipientToken: string): string {
    const [first, middle, last] = this.#frame;
    const filledText = fill(this.#text.encoded, form, text, '');
    return first + filledText + middle + fill(this.#html.encoded, form, html, recipientToken) + last;
  }
}

/** @returns null if the messages have to be built one by one, by `prepareContent` */
export function createSkeleton(content: SkeletonContent): Skeleton | null {
  const html = dividedHtml(content);
  const text = dividedText(content);
  return html && text && new Skeleton(content, text, html);
}
