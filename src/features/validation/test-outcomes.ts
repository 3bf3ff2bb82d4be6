import { type Reason, type Verdict, verdictOfReason } from './checks/verdict.ts';

/** Words in an address's local part, besides the reasons themselves, that determine the outcome with a test key. */
const words: Record<string, Reason> = {
  deliverable: 'mailbox_accepted',
  undeliverable: 'mailbox_missing',
  bounced: 'mailbox_missing',
  failed: 'no_mail_server',
  risky: 'catch_all',
  unknown: 'mailbox_not_checked',
};

/**
 * The result of an address with a test key. Its local part, without the suffix after a plus sign, names the outcome.
 * Any other address is deliverable.
 */
export function testOutcome(email: string): { verdict: Verdict; reason: Reason } {
  const [local = ''] = email.toLowerCase().split(/[@+]/, 1);
  const named = Object.hasOwn(verdictOfReason, local) ? (local as Reason) : null;
  const reason = named ?? (Object.hasOwn(words, local) ? words[local] : undefined) ?? 'mailbox_accepted';
  return { verdict: verdictOfReason[reason], reason };
}
