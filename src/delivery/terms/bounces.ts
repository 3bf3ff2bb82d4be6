import type { Bounce, BounceSubtype } from './message.ts';
import { aboutRecipient, words } from './refusal-words.ts';

/** A final refusal of a message, or a temporary one (4xx) that was repeated until the message expired. */
export interface Refusal {
  /** The SMTP reply code; null if a report names none. */
  code: number | null;
  /** The enhanced status code (RFC 3463) inside the reply itself, such as `5.1.1`. */
  enhanced: string | null;
  /**
   * The enhanced code that a report or a service gives beside the reply. Relays derive it from the reply code if the
   * reply has none, so it says less than `enhanced`.
   */
  status?: string | null;
  /** The reply without its codes. */
  text: string;
  /** The command that was refused; `report` if a report does not say which. */
  stage: 'mail' | 'rcpt' | 'data' | 'body' | 'report';
}

/** What a refusal means. Only a bounce is the recipient's fault; all other kinds are failure codes of the message. */
export type RefusalVerdict =
  | { kind: 'bounce'; bounce: Bounce }
  | { kind: 'rejected' | 'content_rejected' | 'sender_rejected' | 'expired' };

/** Maximum number of characters of a text that are searched, and that are stored. */
const MAX_SEARCHED = 2_000;
const MAX_DIAGNOSTIC = 500;

/** Enhanced codes of the address itself. RFC 3463 and RFC 7505 define them, all as permanent. */
const hardCodes: Record<string, BounceSubtype> = {
  '5.1.1': 'no_such_mailbox',
  '5.1.2': 'no_such_domain',
  '5.1.3': 'bad_address',
  '5.1.6': 'moved',
  '5.1.10': 'no_such_mailbox',
  '5.2.1': 'mailbox_disabled',
};

/**
 * Returns the text to search, in lower case. Addresses are removed, which may contain any word but say nothing about the
 * reason. They are matched only at the start of a word.
 */
function withoutAddresses(text: string): string {
  return text
    .slice(0, MAX_SEARCHED)
    .replace(/(?<![^\s<>@])[^\s<>@]*(?:@[^\s<>@]{1,255})+/g, ' ')
    .toLowerCase();
}

/** Clips a text to 500 characters that PostgreSQL can store: no NUL, no half of a surrogate pair. */
export function clipText(text: string): string {
  return text.slice(0, MAX_DIAGNOSTIC).replaceAll('\0', '').toWellFormed();
}

/** The refusal as the server wrote it, in one text. */
export function diagnosticOf(refusal: Omit<Refusal, 'stage'>): string {
  const { code, enhanced, status, text } = refusal;
  return [code === null ? '' : String(code), enhanced ?? status ?? '', text]
    .filter((part) => part !== '')
    .join(' ');
}

function bounceOf(refusal: Refusal, type: Bounce['type'], subtype: BounceSubtype): RefusalVerdict {
  return { kind: 'bounce', bounce: { type, subtype, diagnostic: clipText(diagnosticOf(refusal)) } };
}

/** Codes that relays derive from a reply code, not from what the server wrote. */
const derivedCodes: Record<number, string> = { 551: '5.1.6', 552: '5.2.2', 553: '5.1.3', 554: '5.6.0' };

/**
 * Whether a code names a reason: the recipient, the sender, the content or a policy. Of any other, such as 5.1.351, and
 * of one like 5.2.0, which says no more than its class, the words decide.
 */
const isListed = (code: string): boolean =>
  !code.endsWith('.0') &&
  (hardCodes[code] !== undefined ||
    code.endsWith('.2.2') ||
    /^5\.(?:1\.[78]$|2\.3$|3\.4$|4\.|[67]\.)/.test(code));

/**
 * Returns the enhanced code that decides: that of the reply, one in its text, as qmail and Cisco's servers write it
 * (`sorry, no mailbox here by that name. (#5.1.1)`), or that of the report. Null: the words of the reply decide.
 */
function decidingCode({ code, enhanced, status = null, text }: Refusal): string | null {
  if (enhanced !== null && isListed(enhanced)) return enhanced;
  const written = /#([45]\.\d{1,3}\.\d{1,3})/.exec(text.slice(0, MAX_SEARCHED))?.[1];
  if (written !== undefined && isListed(written)) return written;
  if (status === null || !isListed(status)) return null;
  // The server gave no code, so the relay derived one.
  return code !== null && derivedCodes[code] === status ? null : status;
}

/** Judges a permanent refusal whose enhanced code is missing or says too little. */
function judgeByText(refusal: Refusal, text: string): RefusalVerdict {
  const { code, stage, enhanced } = refusal;
  if (words.policy.test(text)) return judgeMessage(refusal);
  if (words.full.test(text)) return bounceOf(refusal, 'soft', 'mailbox_full');
  if (words.temporary.test(text)) return judgeMessage(refusal);
  if (words.disabled.test(text)) return bounceOf(refusal, 'hard', 'mailbox_disabled');
  if (words.noDomain.test(text)) return bounceOf(refusal, 'soft', 'no_such_domain');
  // A 550 without any code in reply to RCPT is about the mailbox (RFC 5321 §4.2.3). One with 5.7.0 is not.
  const isBare = enhanced === null || enhanced.endsWith('.0.0');
  const isAboutMailbox = code === 550 && stage === 'rcpt' && isBare && !excusesRecipient(text);
  if (words.unknown.test(text) || isAboutMailbox) return bounceOf(refusal, 'hard', 'no_such_mailbox');
  // By RFC 5321 §4.2.3, 552 is about the mailbox's storage. In reply to the content, servers mean the message's size.
  if (code === 552 && stage === 'rcpt' && isBare) return bounceOf(refusal, 'soft', 'mailbox_full');
  return judgeMessage(refusal);
}

/** Words of a reason that is not the recipient's fault. */
const excuses = [words.policy, words.refused, words.serverFault, words.size, words.temporary, words.rate];

/** Words of the recipient's own faults. */
const faults = [words.unknown, words.disabled, words.full, words.noDomain, words.nullMx];

/** Whether words name another reason than the recipient, and none of the recipient's own. */
function excusesRecipient(text: string): boolean {
  if (!excuses.some((each) => each.test(text))) return false;
  const rest = aboutRecipient(text);
  return !faults.some((each) => each.test(rest));
}

/** Whether words say that the mailbox is full, and so that it exists, whatever code its server gives. */
const namesFull = (text: string): boolean =>
  words.full.test(text) && !words.unknown.test(text) && !words.disabled.test(text);

/** Judges a permanent refusal by its enhanced code. */
function judgeByCode(refusal: Refusal, enhanced: string, text: string): RefusalVerdict {
  if (enhanced === '5.2.1' && words.rate.test(text)) return bounceOf(refusal, 'soft', 'other');
  if (enhanced === '5.1.10' && words.nullMx.test(text)) return bounceOf(refusal, 'hard', 'no_such_domain');
  if (enhanced === '5.4.1' && words.accessDenied.test(text))
    return bounceOf(refusal, 'hard', 'no_such_mailbox');
  return judgeByRecipientCode(refusal, enhanced, text) ?? judgeByOtherCode(refusal, enhanced, text);
}

/** @returns null if the code is not about the recipient */
function judgeByRecipientCode(refusal: Refusal, enhanced: string, text: string): RefusalVerdict | null {
  const hard = hardCodes[enhanced];
  if (hard === undefined && !enhanced.endsWith('.2.2')) return null;
  // Servers also refuse a sender or a content with the code of a recipient, and no recipient is to suffer for it.
  if (excusesRecipient(text)) return { kind: 'rejected' };
  return hard === undefined || namesFull(text)
    ? bounceOf(refusal, 'soft', 'mailbox_full')
    : bounceOf(refusal, 'hard', hard);
}

function judgeByOtherCode(refusal: Refusal, enhanced: string, text: string): RefusalVerdict {
  if (enhanced.startsWith('5.4.') && text.includes('expired')) return { kind: 'expired' };
  if (enhanced.startsWith('5.4.') && words.noDomain.test(text))
    return bounceOf(refusal, 'soft', 'no_such_domain');
  return judgeMessage({ ...refusal, enhanced });
}

/** Judges a refusal that is not the recipient's fault. */
function judgeMessage({ enhanced: own, status, code }: Refusal): RefusalVerdict {
  const enhanced = own ?? status ?? null;
  if (enhanced === '5.1.7' || enhanced === '5.1.8') return { kind: 'sender_rejected' };
  if (enhanced !== null && /^5\.(?:[67]\.|3\.4$|2\.3$)/.test(enhanced)) return { kind: 'content_rejected' };
  return { kind: code === 552 ? 'content_rejected' : 'rejected' };
}

/**
 * Judges a temporary refusal that was repeated until the message expired.
 * @param enhanced that of {@link codeAtExpiry}
 */
function judgeExpired(refusal: Refusal, enhanced: string | null, text: string): RefusalVerdict {
  const { code, stage } = refusal;
  if (words.policy.test(text)) return { kind: 'expired' };
  const subject = enhanced?.slice(2) ?? '';
  if (subject === '2.2' || words.full.test(text)) return bounceOf(refusal, 'soft', 'mailbox_full');
  const aboutRecipient =
    (/^[12]\./.test(subject) && subject !== '1.7' && subject !== '1.8') ||
    (enhanced === null && code === 450 && stage === 'rcpt');
  return aboutRecipient ? bounceOf(refusal, 'soft', 'expired') : { kind: 'expired' };
}

/** The code that says whether a message expired: a report's own, unless it only says that it did, or nothing. */
function codeAtExpiry({ enhanced, status = null }: Refusal): string | null {
  return status === null || /\.0\.0$|\.4\.7$/.test(status) ? (enhanced ?? status) : status;
}

function isExpiry({ code }: Refusal, enhanced: string | null): boolean {
  if (enhanced?.endsWith('.4.7')) return true;
  return code === null ? enhanced?.startsWith('4.') === true : code < 500;
}

/**
 * Classifies a final refusal by RFC 3463 and the replies of large providers; docs/bounces.md has the table. A hard
 * bounce suppresses the address, a soft one is counted. A temporary reply (4xx, 4.x.x) must be the last one before the
 * message expired.
 */
export function classifyBounce(refusal: Refusal): RefusalVerdict {
  const text = withoutAddresses(refusal.text);
  const atExpiry = codeAtExpiry(refusal);
  if (isExpiry(refusal, atExpiry)) return judgeExpired(refusal, atExpiry, text);
  if (refusal.stage === 'mail') return judgeMessage(refusal);
  const deciding = decidingCode(refusal);
  const isHard = deciding !== null && hardCodes[deciding] !== undefined;
  // Servers refuse large messages with 552 and relays make 5.2.2 of it, a full mailbox.
  if (!isHard && words.size.test(text) && !words.full.test(text) && !words.policy.test(text))
    return { kind: 'content_rejected' };
  return deciding === null ? judgeByText(refusal, text) : judgeByCode(refusal, deciding, text);
}

/**
 * Returns what a refusal in reply to RCPT proves about the mailbox, independent of the sender. Stricter than
 * {@link classifyBounce}: only codes about the recipient count, never a bare 550 or a reply that names a policy.
 * @returns null if it proves nothing
 */
export function refusedMailbox(reply: Omit<Refusal, 'stage'>): 'missing' | 'full' | null {
  const code = decidingCode({ ...reply, stage: 'rcpt' });
  if (code === null) return null;
  if (code.endsWith('.2.2')) return 'full';
  const text = withoutAddresses(reply.text);
  if (code === '5.4.1') return words.accessDenied.test(text) ? 'missing' : null;
  if (words.policy.test(text) || (code === '5.2.1' && words.rate.test(text))) return null;
  if (hardCodes[code] === undefined || excusesRecipient(text)) return null;
  return namesFull(text) ? 'full' : 'missing';
}

/**
 * Classifies a refusal that was reported after the hand-over. The message did not arrive, so it bounced in any case.
 * `suppresses` is whether the bounce is the recipient's fault, so that it suppresses the address or is counted.
 */
export function reportedBounce(refusal: Refusal): { bounce: Bounce; suppresses: boolean } {
  const verdict = classifyBounce(refusal);
  if (verdict.kind === 'bounce') return { bounce: verdict.bounce, suppresses: true };
  const blocked = verdict.kind !== 'expired' && isBlock(refusal);
  const subtype = verdict.kind === 'expired' ? 'expired' : blocked ? 'blocked' : 'other';
  return {
    bounce: { type: 'soft', subtype, diagnostic: clipText(diagnosticOf(refusal)) },
    suppresses: false,
  };
}

/** Whether a refusal names a policy or a block list. */
export function isBlock({ enhanced, status, text }: Pick<Refusal, 'enhanced' | 'status' | 'text'>): boolean {
  return /^5\.7\./.test(enhanced ?? status ?? '') || words.policy.test(withoutAddresses(text));
}
