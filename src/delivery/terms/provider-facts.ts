/** What the kinds of email providers can take, for the statements that choose one for a letter. */
export interface ProviderFacts {
  /**
   * Maximum size of a built message in bytes; null: the kind has no limit, but its server may have said its own, which
   * `provider_sizes` has.
   */
  maxBytes: number | null;
  /**
   * Whether the service sends a message to everyone in its To and Cc. Then a copy of a letter would reach the recipients
   * of the other copies.
   */
  ccIsEnvelope: boolean;
  /** Whether it sends a built message as it is; else it builds its own from the fields that it knows. */
  takesMime: boolean;
  /** Whether a message goes out in pieces; else it is in memory as a whole while it is handed over. */
  streams: boolean;
}

const MIB = 1024 * 1024;

/** By the names of kinds of email providers. */
export const providerFacts: Readonly<Record<string, ProviderFacts>> = {
  capture: { maxBytes: null, ccIsEnvelope: false, takesMime: true, streams: false },
  smtp: { maxBytes: null, ccIsEnvelope: false, takesMime: true, streams: true },
  // 40 MB once the message is in base64.
  ses: { maxBytes: 29 * MIB, ccIsEnvelope: false, takesMime: true, streams: false },
  mailgun: { maxBytes: 25 * MIB, ccIsEnvelope: false, takesMime: true, streams: false },
  sendgrid: { maxBytes: 30 * MIB, ccIsEnvelope: true, takesMime: false, streams: false },
  // The limits of Postmark and Resend count the files in base64, as a built message does.
  postmark: { maxBytes: 10 * MIB, ccIsEnvelope: true, takesMime: false, streams: false },
  resend: { maxBytes: 40 * MIB, ccIsEnvelope: true, takesMime: false, streams: false },
};

/** SQL: a value by the kind of a provider; null for kinds without one. */
const byKindSql = (kind: string, valueOf: (facts: ProviderFacts) => string | null): string => {
  const cases = Object.entries(providerFacts).flatMap(([name, facts]) => {
    const value = valueOf(facts);
    return value === null ? [] : [`when '${name}' then ${value}`];
  });
  return `case ${kind} ${cases.join(' ')} end`;
};

/** SQL: the maximum size of a built message, by the kind of provider; null: none. */
export const maxBytesSql = (kind: string): string =>
  byKindSql(kind, ({ maxBytes }) => (maxBytes === null ? null : String(maxBytes)));

/** SQL: whether the service sends to everyone in the header, by the kind of provider. Never null. */
export const ccIsEnvelopeSql = (kind: string): string =>
  `coalesce(${byKindSql(kind, ({ ccIsEnvelope }) => (ccIsEnvelope ? 'true' : null))}, false)`;

/** SQL: whether a provider of the kind sends built messages as they are. Never null. */
export const takesMimeSql = (kind: string): string =>
  `coalesce(${byKindSql(kind, ({ takesMime }) => (takesMime ? 'true' : null))}, false)`;
