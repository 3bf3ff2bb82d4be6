import { classifyBounce, clipText, type Refusal, reportedBounce } from '../facts/bounces.ts';
import type { Bounce, BounceSubtype } from '../message.ts';

/** What a service reports about a bounce. */
export interface ServiceBounce {
  /** The remote server's words, such as `smtp; 550 5.1.1 user unknown`. Empty: the service does not report them. */
  text: string;
  /** The service's words. They are shown if there are no others, and never judged: they may name several reasons. */
  summary?: string;
  /** The enhanced code, if the service reports it apart from the words. */
  status: string | null;
  /** The service's own judgement. */
  permanent: boolean;
}

const CODES = /^\s*(?:smtp\s*;\s*)?(?:([245]\d\d)(?:[ -]|$))?\s*(?:(\d\.\d{1,3}\.\d{1,3})(?:\s|$))?/i;
const ENHANCED = /^[245]\.\d{1,3}\.\d{1,3}$/;

/** Reads a server's reply as services quote it. */
function refusalOf({ text, status }: Pick<ServiceBounce, 'text' | 'status'>): Refusal {
  const [codes = '', code, enhanced] = CODES.exec(text) ?? [];
  return {
    code: code === undefined ? null : Number(code),
    enhanced: enhanced ?? (status !== null && ENHANCED.test(status) ? status : null),
    text: text.slice(codes.length),
    stage: 'report',
  };
}

export interface JudgedBounce {
  bounce: Bounce;
  /** Whether it suppresses the address, or is counted. */
  suppresses: boolean;
}

/**
 * Judges a bounce by the codes and words of the remote server. If they do not tell, the service's judgement counts: it
 * knows the server's replies better than anyone.
 */
export function judgeBounce(reported: ServiceBounce): JudgedBounce {
  const refusal = refusalOf(reported);
  const { bounce, suppresses } = reportedBounce(refusal);
  const diagnostic = bounce.diagnostic || clipText(reported.summary ?? '');
  const undecided = classifyBounce(refusal).kind === 'rejected' && bounce.subtype === 'other';
  if (undecided && reported.permanent) return serviceBounce('hard', 'other', diagnostic);
  return { bounce: { ...bounce, diagnostic }, suppresses };
}

/** A bounce that the service has classified itself. A hard one suppresses the address unless `suppresses` is false. */
export function serviceBounce(
  type: Bounce['type'],
  subtype: BounceSubtype,
  text: string,
  suppresses = type === 'hard' || subtype === 'mailbox_full',
): JudgedBounce {
  return { bounce: { type, subtype, diagnostic: clipText(text) }, suppresses };
}
