import type { Bounce, BounceSubtype } from '../message.ts';

/** A final refusal of a message, or a temporary one (4xx) that was repeated until the message expired. */
export interface Refusal {
  /** The SMTP reply code; null if a report names none. */
  code: number | null;
  /** The enhanced status code (RFC 3463), such as `5.1.1`. */
  enhanced: string | null;
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
 * Words in replies. No pattern has a repetition inside a repetition, so the time to search is linear. Text decides only
 * if a reply has no meaningful code, because servers word the same refusal in a hundred ways.
 */
const words = {
  /** Why a server refuses this sender or this content, independent of the recipient. */
  policy:
    /spam|polic(?:y|ies)|block|(?:black|deny|gr[ea]y)[ -]?list|\b(?:dns|uri|s|p)?[rb]bl\b|reputation|\bspf\b|\bdkim\b|\bdmarc\b|relaying|(?:not|to) relay|relay (?:not|access|denied|attempt)|junk|virus|malware|phish|\bban(?:ned)?\b|prohibit|not (?:allowed|permitted|authori[sz]ed)|authenticat|access denied|listed (?:in|at|by|on)|reverse dns|\bptr\b|sender|unsolicited|rate limit|too many|content reject/i,
  full: /over ?-?quota|quota (?:is )?(?:exceeded|full)|exceed\w{0,3} (?:the |his |her |its |their |storage |disk |mailbox )?(?:quota|storage)|(?:mailbox|inbox|account)(?: is)?(?: almost)? full|mailbox (?:size )?(?:limit )?exceeded|out of storage|storage (?:is )?(?:full|limit)|exceeded storage allocation|not enough (?:disk )?space/i,
  size: /too (?:large|big|long)|message size|(?:size|length) (?:exceeds|limit)|exceeds (?:the )?(?:maximum|fixed|size|limit)/i,
  disabled:
    /(?:account|mailbox|user|address|recipient)(?: has been| is| was)? (?:temporarily )?(?:disabled|inactive|suspended|deactivated|discontinued|closed|terminated)|(?:disabled|inactive|suspended) (?:account|mailbox|user|recipient)|no longer (?:active|available|valid|in use|accept)/i,
  unknown:
    /no such (?:user|mailbox|recipient|address|person|account|local)|(?:user|recipient|mailbox|address|addressee|account|alias)(?: is| was)? (?:unknown|invalid|not (?:found|known|valid))|(?:unknown|invalid|nonexistent|non-existent) (?:user|recipient|mailbox|address|account|local|virtual|or )|(?:does not|doesn't|do not|not) exist|no mailbox|no account|mailbox (?:is )?(?:unavailable|not available)|unrouteable address|does(?: not|n't) have an? [^ ]{1,80} account|not a (?:valid|known) (?:user|mailbox|recipient|address)/i,
  noDomain:
    /(?:domain|host)(?: name)?(?: [^ ]{1,255})? (?:is )?(?:unknown|not found|invalid|does not exist)|no such (?:domain|host)|unknown (?:domain|host)|name or service not known|non-existent hosts|nxdomain/i,
  nullMx: /null ?mx/i,
  rate: /\brate\b|too (?:many|quickly|fast)/i,
  /** Microsoft's reply for an address that is not in the recipient's directory. */
  accessDenied: /recipient address(?:es)? rejected ?: ?access denied/i,
} as const;

/**
 * Removes addresses, which may contain any word but say nothing about the reason. They are matched only at the start of
 * a word.
 */
function withoutAddresses(text: string): string {
  return text.slice(0, MAX_SEARCHED).replace(/(?<![^\s<>@])[^\s<>@]*(?:@[^\s<>@]{1,255})+/g, ' ');
}

/** Clips a text to 500 characters that PostgreSQL can store: no NUL, no half of a surrogate pair. */
export function clipText(text: string): string {
  return text.slice(0, MAX_DIAGNOSTIC).replaceAll('\0', '').toWellFormed();
}

/** The refusal as the server wrote it, in one text. */
export function diagnosticOf({ code, enhanced, text }: Pick<Refusal, 'code' | 'enhanced' | 'text'>): string {
  return [code === null ? '' : String(code), enhanced ?? '', text].filter((part) => part !== '').join(' ');
}

function bounceOf(refusal: Refusal, type: Bounce['type'], subtype: BounceSubtype): RefusalVerdict {
  return { kind: 'bounce', bounce: { type, subtype, diagnostic: clipText(diagnosticOf(refusal)) } };
}

/**
 * Returns the enhanced code if it says more than that the message was refused. Servers without enhanced codes, such as
 * qmail and Cisco's, write them into the text: `sorry, no mailbox here by that name. (#5.1.1)`.
 */
function meaningfulCode({ enhanced, text }: Refusal): string | null {
  if (enhanced !== null && !enhanced.endsWith('.0.0')) return enhanced;
  const written = /#([45]\.\d{1,3}\.\d{1,3})/.exec(text.slice(0, MAX_SEARCHED))?.[1];
  return written !== undefined && !written.endsWith('.0') ? written : null;
}

/** Judges a permanent refusal whose enhanced code is missing or meaningless. */
function judgeByText(refusal: Refusal, text: string): RefusalVerdict {
  const { code, stage } = refusal;
  if (words.policy.test(text)) return { kind: 'rejected' };
  if (words.full.test(text)) return bounceOf(refusal, 'soft', 'mailbox_full');
  if (words.size.test(text)) return { kind: 'content_rejected' };
  if (words.disabled.test(text)) return bounceOf(refusal, 'hard', 'mailbox_disabled');
  if (words.noDomain.test(text)) return bounceOf(refusal, 'soft', 'no_such_domain');
  if (words.unknown.test(text) || (code === 550 && stage === 'rcpt'))
    return bounceOf(refusal, 'hard', 'no_such_mailbox');
  // By RFC 5321 §4.2.3, 552 is about the mailbox's storage. In reply to the content, servers mean the message's size.
  if (code === 552 && stage === 'rcpt') return bounceOf(refusal, 'soft', 'mailbox_full');
  return judgeMessage(refusal);
}

/** Judges a permanent refusal by its enhanced code. */
function judgeByCode(refusal: Refusal, enhanced: string, text: string): RefusalVerdict {
  if (enhanced === '5.2.1' && words.rate.test(text)) return bounceOf(refusal, 'soft', 'other');
  if (enhanced === '5.1.10' && words.nullMx.test(text)) return bounceOf(refusal, 'hard', 'no_such_domain');
  const hard = hardCodes[enhanced];
  if (hard !== undefined) return bounceOf(refusal, 'hard', hard);
  if (enhanced.endsWith('.2.2')) return bounceOf(refusal, 'soft', 'mailbox_full');
  if (enhanced === '5.4.1' && words.accessDenied.test(text))
    return bounceOf(refusal, 'hard', 'no_such_mailbox');
  // Outlook.com replies with 5.5.0 for mailboxes that do not exist.
  if (enhanced === '5.5.0' && /mailbox unavailable/i.test(text))
    return bounceOf(refusal, 'hard', 'no_such_mailbox');
  if (enhanced.startsWith('5.4.') && /expired/i.test(text)) return { kind: 'expired' };
  if (enhanced.startsWith('5.4.') && words.noDomain.test(text))
    return bounceOf(refusal, 'soft', 'no_such_domain');
  return judgeMessage({ ...refusal, enhanced });
}

/** Judges a refusal that is not the recipient's fault. */
function judgeMessage({ enhanced, code }: Refusal): RefusalVerdict {
  if (enhanced === '5.1.7' || enhanced === '5.1.8') return { kind: 'sender_rejected' };
  if (enhanced !== null && /^5\.(?:[67]\.|3\.4$|2\.3$)/.test(enhanced)) return { kind: 'content_rejected' };
  return { kind: code === 552 ? 'content_rejected' : 'rejected' };
}

/** Judges a temporary refusal that was repeated until the message expired. */
function judgeExpired(refusal: Refusal, text: string): RefusalVerdict {
  const { code, enhanced, stage } = refusal;
  if (words.policy.test(text)) return { kind: 'expired' };
  const subject = enhanced?.slice(2) ?? '';
  if (subject === '2.2' || words.full.test(text)) return bounceOf(refusal, 'soft', 'mailbox_full');
  const aboutRecipient =
    (/^[12]\./.test(subject) && subject !== '1.7' && subject !== '1.8') ||
    (enhanced === null && code === 450 && stage === 'rcpt');
  return aboutRecipient ? bounceOf(refusal, 'soft', 'expired') : { kind: 'expired' };
}

function isExpiry({ code, enhanced }: Refusal): boolean {
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
  if (isExpiry(refusal)) return judgeExpired(refusal, text);
  if (refusal.stage === 'mail') return judgeMessage(refusal);
  const meaningful = meaningfulCode(refusal);
  return meaningful === null ? judgeByText(refusal, text) : judgeByCode(refusal, meaningful, text);
}

/**
 * Returns what a refusal in reply to RCPT proves about the mailbox, independent of the sender. Stricter than
 * {@link classifyBounce}: only codes about the recipient count, never a bare 550 or a reply that names a policy.
 * @returns null if it proves nothing
 */
export function refusedMailbox(reply: Omit<Refusal, 'stage'>): 'missing' | 'full' | null {
  const code = meaningfulCode({ ...reply, stage: 'rcpt' });
  if (code === null) return null;
  if (code.endsWith('.2.2')) return 'full';
  const text = withoutAddresses(reply.text);
  if (code === '5.4.1') return words.accessDenied.test(text) ? 'missing' : null;
  if (words.policy.test(text) || (code === '5.2.1' && words.rate.test(text))) return null;
  return hardCodes[code] === undefined ? null : 'missing';
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
export function isBlock({ enhanced, text }: Pick<Refusal, 'enhanced' | 'text'>): boolean {
  return /^5\.7\./.test(enhanced ?? '') || words.policy.test(withoutAddresses(text));
}
