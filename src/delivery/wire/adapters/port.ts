import type { HandOverOutcome } from '../../terms/hand-over-outcome.ts';
import type { BuiltMessage, EmailContent } from '../../content/mime/message.ts';
import type { EmailAddress } from '../../terms/addresses/email.ts';
import type { AttachmentFields } from '../../terms/letter.ts';

/** The outcome of a message that was handed over, but to which the service had not replied when the provider stopped. */
export interface OpenOutcome {
  kind: 'open';
  later: Promise<HandOverOutcome>;
}

export type HandOverResult = HandOverOutcome | OpenOutcome;

export const isOpen = (result: HandOverResult | undefined): result is OpenOutcome => result?.kind === 'open';

/** Changes an outcome once it is known. */
export function onceKnown(
  result: HandOverResult,
  change: (outcome: HandOverOutcome) => HandOverOutcome,
): HandOverResult {
  return isOpen(result) ? { kind: 'open', later: result.later.then(change) } : change(result);
}

/** The outcomes of a batch that was not handed over. */
export function untried(batch: readonly unknown[]): HandOverOutcome[] {
  return batch.map(() => ({ kind: 'not_tried' }));
}

/** An email for a provider. */
export interface OutgoingEmail {
  messageId: number;
  /** Counted from 1. (messageId, attempt) identifies this attempt forever. */
  attempt: number;
  /** The envelope sender, to which bounces return. */
  returnPath: string;
  /** The recipient's bare address, its domain in A-labels. */
  to: string;
  from: string;
  subject: string;
  /** The client's tags and `account_id`, `brand_id`, `message_id`, for providers that store tags with a message. */
  tags: Record<string, string>;
  /** Identifies the message in callbacks. Goes into the provider's metadata, where recipients do not see it. */
  reference: string;
  /** The parts of the message, for providers that do not take a complete one. */
  content: EmailContent;
  /** The complete signed message, with identical bytes each time the same email is handed over. */
  built: BuiltMessage;
}

/** A complete message that is read in pieces, because it has files. */
export interface StreamedMessage {
  /** Bytes of all pieces. */
  readonly size: number;
  readonly smtpUtf8: boolean;
  readonly eightBit: boolean;
  /** A line may begin with a dot; absent: none does. */
  readonly mayHaveDots?: boolean;
  /**
   * The message in pieces of at most 64 KiB, the same each time. Each line ends with CRLF.
   * @throws Error if a file cannot be read; then the pieces so far are no message
   */
  pieces(): AsyncIterable<Buffer>;
}

/** A file, for providers that do not take a complete message. */
export interface OutgoingFile extends AttachmentFields {
  /**
   * Its bytes in base64 without line breaks.
   * @throws Error if it cannot be read
   */
  base64(): Promise<Buffer>;
}

/** The fields of a letter, for providers that do not take a complete message. */
export interface LetterFields {
  /** Who stands in the header, the same in all copies. */
  to: readonly EmailAddress[];
  cc: readonly EmailAddress[];
  replyTo: readonly EmailAddress[];
  files: readonly OutgoingFile[];
}

/** A copy of a letter, for a provider. */
export interface OutgoingLetter extends Omit<OutgoingEmail, 'built'> {
  built: StreamedMessage;
  letter: LetterFields;
}

/** What a provider takes: also letters, whose files and other recipients it must not leave out. */
export type OutgoingMail = OutgoingEmail | OutgoingLetter;

export const isLetter = (mail: unknown): mail is OutgoingLetter =>
  typeof mail === 'object' && mail !== null && 'letter' in mail;

/** How Carillon reaches one email service. `docs/providers.md` describes the contract. */
export interface EmailProvider {
  readonly name: string;
  /** What signs messages; by default Carillon. */
  readonly signing?: 'provider';
  /** Number of batches that it handles at once. The sender keeps this many in flight. */
  readonly concurrency: number;
  /**
   * Hands over a batch of at most 50 emails. Resolves when every email has its outcome, in the order of the batch. A
   * failure of the provider does not reject: it is the outcome (`fault`, `unknown`) of each email concerned. Only after
   * {@link EmailProvider.stop}, an outcome may be `open`.
   *
   * A property and not a method, so that a provider that takes only an `OutgoingEmail` does not compile.
   */
  readonly handOver: (batch: readonly OutgoingMail[]) => Promise<HandOverResult[]>;
  /**
   * Checks whether the service already has a message, after an attempt without a known outcome. Absent if the service
   * offers no such lookup, or if handing over again is safe.
   * @returns `accepted` if it certainly has it; null if it does not list it or cannot be reached: then the message is
   *   handed over again. Never rejects.
   */
  findAccepted?(email: OutgoingMail): Promise<Extract<HandOverOutcome, { kind: 'accepted' }> | null>;
  /**
   * Begins nothing more. Batches in progress resolve at once: an email that the service may have is `open` until the
   * service replies, and all others without an outcome are `not_tried`. A batch that is a single request may instead
   * resolve with its response. Absent if a batch takes only a moment.
   */
  stop?(): void;
  /** Closes its connections cleanly. Nothing is handed over afterwards. */
  close(): Promise<void>;
}

/** An SMS for a provider. */
export interface OutgoingSms {
  messageId: number;
  /** Counted from 1. (messageId, attempt) identifies this attempt forever. */
  attempt: number;
  /** The brand's number or alphanumeric sender at this provider; null: the provider's default. */
  from: string | null;
  /** Identifies the message in callbacks. */
  reference: string;
  /** E.164. */
  to: string;
  text: string;
  segments: number;
}

/** How Carillon reaches one SMS service. The contract is that of {@link EmailProvider}. */
export interface SmsProvider {
  readonly name: string;
  readonly concurrency: number;
  handOver(batch: readonly OutgoingSms[]): Promise<HandOverResult[]>;
  stop?(): void;
  close(): Promise<void>;
}

/** The contract of the providers of each channel. */
export interface ProviderPorts {
  email: EmailProvider;
  sms: SmsProvider;
}
