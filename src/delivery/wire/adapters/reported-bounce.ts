import { classifyBounce, clipText, type Refusal, reportedBounce } from '../../terms/bounces.ts';
import type { Bounce, BounceSubtype } from '../../terms/message.ts';

/** What a service reports about a bounce. */
export interface ServiceBounce {
  /** The remote server's reply, such as `smtp; 550 5.1.1 user unknown`. Empty: the service does not report it. */
  text: string;
  /** The service's description. Shown if there is no reply, and never used to classify: it may name several reasons. */
  summary?: string;
  /** The enhanced code, if the service reports it separately. */
  status: string | null;
  /** The service's own classification. */
  permanent: boolean;
}

const CODES = /^\s*(?:smtp\s*;\s*)?(?:([245]\d\d)(?:[ -]|$))?\s*(?:(\d\.\d{1,3}\.\d{1,3})(?:\s|$))?/i;
const ENHANCED = /^[245]\.\d{1,3}\.\d{1,3}$/;

/** Reads a server's reply as services quote it. */
function refusalOf({ text, status }: Pick<ServiceBounce, 'text' | 'status'>): Refusal {
  const [codes = '', code, enhanced] = CODES.exec(text) ?? [];
  return {
    code: code === undefined ? null : Number(code),
    enhanced: enhanced ?? null,
    status: status !== null && ENHANCED.test(status) ? status : null,
    text: text.slice(codes.length),
    stage: 'report',
  };
}

export interface JudgedBounce {
  bounce: Bounce;
  /** Whether it suppresses the address, or counts towards a suppression. */
  suppresses: boolean;
}

/**
 * Classifies a bounce by the codes and the text of the remote server's reply. If they are inconclusive, the service's
 * own classification decides, because it has seen more replies of that server than Carillon has.
 */
export function judgeBounce(reported: ServiceBounce): JudgedBounce {
  const refusal = refusalOf(reported);
  const { bounce, suppresses } = reportedBounce(refusal);
  const diagnostic = bounce.diagnostic || clipText(reported.summary ?? '');
  const undecided = classifyBounce(refusal).kind === 'rejected' && bounce.subtype === 'other';
  if (undecided && reported.permanent) return serviceBounce('hard', 'other', diagnostic);
  return { bounce: { ...bounce, diagnostic }, suppresses };
}

/** A bounce as the service itself has classified it. A hard one suppresses the address unless `suppresses` is false. */
export function serviceBounce(
  type: Bounce['type'],
  subtype: BounceSubtype,
  text: string,
  suppresses = type === 'hard' || subtype === 'mailbox_full',
): JudgedBounce {
  return { bounce: { type, subtype, diagnostic: clipText(text) }, suppresses };
}
