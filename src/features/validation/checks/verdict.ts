/** What a check says about an address. The interface calls it `verdict`. */
export const verdicts = ['deliverable', 'undeliverable', 'risky', 'unknown'] as const;

export type Verdict = (typeof verdicts)[number];

/**
 * The reasons, each with its verdict. If several apply to an address, the first one in this list decides, so
 * `undeliverable` wins over `risky`, then `deliverable`, then `unknown`.
 */
export const verdictOfReason = {
  syntax: 'undeliverable',
  /** From the brand's own history. */
  recent_bounce: 'undeliverable',
  no_domain: 'undeliverable',
  null_mx: 'undeliverable',
  no_mail_server: 'undeliverable',
  mailbox_missing: 'undeliverable',
  disposable: 'risky',
  mailbox_full: 'risky',
  catch_all: 'risky',
  role: 'risky',
  /** A delivery, open or click within 90 days, from the brand's own history. */
  recent_activity: 'deliverable',
  /** The mail server accepted the recipient, and refused one that does not exist. */
  mailbox_accepted: 'deliverable',
  outside_validator: 'deliverable',
  greylisted: 'unknown',
  timeout: 'unknown',
  probe_refused: 'unknown',
  mailbox_not_checked: 'unknown',
} as const satisfies Record<string, Verdict>;

export type Reason = keyof typeof verdictOfReason;

export const reasons = Object.keys(verdictOfReason) as Reason[];

/** The reasons that come from the brand's own history. Such a result is free. */
export const historyReasons: readonly Reason[] = ['recent_bounce', 'recent_activity'];

/** Returns the reason that decides; `mailbox_not_checked` if there is none. */
export function decisiveReason(found: ReadonlySet<Reason>): Reason {
  return reasons.find((reason) => found.has(reason)) ?? 'mailbox_not_checked';
}
