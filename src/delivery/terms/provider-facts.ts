/** What the kinds of email providers can take, for the statements that choose one for a letter. */
export interface ProviderFacts {
  /**
   * Maximum size of a built message in bytes; null: the kind has no limit, but its server may have told its own, which
   * `provider_sizes` has.
   */
  maxBytes: number | null;
  /**
   * Whether the service sends a message to everyone in its To and Cc. Then a copy of a letter would reach the recipients
   * of the other copies.
   */
  ccIsEnvelope: boolean;
  /** Whether a message goes out in pieces; else it is in memory as a whole while it is handed over. */
  streams: boolean;
}

const MIB = 1024 * 1024;

/** By the names of kinds of email providers. */
export const providerFacts: Readonly<Record<string, ProviderFacts>> = {
  capture: { maxBytes: null, ccIsEnvelope: false, streams: false },
  smtp: { maxBytes: null, ccIsEnvelope: false, streams: true },
  // 40 MB once the message is in base64.
  ses: { maxBytes: 29 * MIB, ccIsEnvelope: false, streams: false },
  mailgun: { maxBytes: 25 * MIB, ccIsEnvelope: false, streams: false },
  sendgrid: { maxBytes: 30 * MIB, ccIsEnvelope: true, streams: false },
  // The limits of Postmark and Resend count the files in base64, as a built message does.
  postmark: { maxBytes: 10 * MIB, ccIsEnvelope: true, streams: false },
  resend: { maxBytes: 40 * MIB, ccIsEnvelope: true, streams: false },
};
