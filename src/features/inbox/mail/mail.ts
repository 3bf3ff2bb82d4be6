/** What a mail says, once it has been read. Texts are shown to people, so they contain no invisible characters. */

/** Why a mail is in quarantine. */
export const quarantineReasons = ['spam', 'blocked', 'virus', 'unreadable', 'storage'] as const;
export type QuarantineReason = (typeof quarantineReasons)[number];

/** A mail that was accepted, as it is to be read. */
export interface AcceptedMail {
  accountId: number;
  /** The blob with the message as it arrived. */
  rawKey: string;
  /** Bytes. */
  size: number;
  /** Empty for the null return path. */
  envelopeFrom: string;
  recipient: string;
  /** Null: not known, so that SPF is `none`. */
  ip: string | null;
  helo: string | null;
}

export interface MailAttachment {
  filename: string;
  /** Detected from the content. */
  contentType: string;
  /** Bytes. */
  size: number;
  /** Without angle brackets; null: no other part can refer to it. */
  contentId: string | null;
  inline: boolean;
  storageKey: string;
  /** Why no scanner can see all of it; null: it can be scanned. */
  unscannable: 'encrypted' | null;
}

/** A result of RFC 8601, such as `pass`, `fail` or `none`, and the domain that it is about. */
export interface AuthenticationResult {
  result: string;
  domain: string | null;
}

/** As clients see it. */
export interface MailAuthentication {
  spf: AuthenticationResult;
  /** The signature that counts: one that passes and is aligned, else the first. */
  dkim: AuthenticationResult;
  dmarc: AuthenticationResult & { policy: string | null };
  arc: AuthenticationResult;
  /**
   * SPF or DKIM passes for the domain of the From field, or its organizational domain, and DMARC does not fail. The
   * domain need not have a DMARC record.
   */
  aligned: boolean;
}

/** The contents of a mail. */
export interface ReadMail {
  /** The Message-ID field, without angle brackets. */
  internetId: string | null;
  /** The ids in In-Reply-To and References, the nearest first, without angle brackets, without repetitions. */
  referenceIds: string[];
  /** As in the field: `Ada <ada@example.com>`. */
  from: string;
  /** The normalized address of the From field (`key` of `parseEmailAddress`); null: it has none, or several. */
  senderKey: string | null;
  to: string[];
  cc: string[];
  /** As in the field, which may have several addresses. */
  replyTo: string | null;
  /** The Date field; null: it is missing, or cannot be read. */
  date: Date | null;
  subject: string | null;
  text: string | null;
  /** As it arrived: never show it without sanitizing it. */
  html: string | null;
  /** `text` or `html` was cut. */
  truncated: boolean;
  /** An automatic mail (RFC 3834), which must not be answered automatically. */
  autoSubmitted: boolean;
  attachments: MailAttachment[];
  authentication: MailAuthentication;
  /** The same for all copies of the mail; null: none can be recognized. See `mailDigest`. */
  digest: Buffer | null;
  /** Null: it is not suspicious. */
  suspicion: { reason: Exclude<QuarantineReason, 'virus' | 'blocked' | 'storage'>; detail: string } | null;
}

/**
 * The mail was read, but storing its attachments took too long. The storage may be slow, or reading the mail took almost
 * all of the time: so it is tried again, but not for ever.
 */
export class SlowMailError extends Error {}

/** Reads accepted mails. */
export interface MailReader {
  /**
   * Reads a mail and stores its attachments. A mail that cannot be parsed is read as far as possible, with the suspicion
   * `unreadable`.
   * @throws SlowMailError: try again a few times
   * @throws the error of the storage, or ThreadUnavailableError: try again later
   */
  read(mail: AcceptedMail): Promise<ReadMail>;
  close(): Promise<void>;
}
