import { classifyBounce, diagnosticOf } from '../../../terms/bounces.ts';
import { SmtpInputError } from '../../smtp/connection-error.ts';
import { replyCodes } from '../../smtp/dialogue.ts';
import type { SmtpOutcome } from '../../smtp/contract.ts';
import type { SmtpReply } from '../../smtp/reply-parser.ts';
import type { HandOverOutcome } from '../../../terms/hand-over-outcome.ts';

/** Replies to MAIL that are not about the message: the connection ends, or the server accepts no mail from us. */
function aboutTheSession(reply: SmtpReply): boolean {
  if ([421, 500, 501, 502, 503, 504, 530, 534, 535, 538].includes(reply.code)) return true;
  return reply.code === 554 && (reply.enhanced === null || reply.enhanced.startsWith('5.7.'));
}

function refused(outcome: Extract<SmtpOutcome, { kind: 'refused' }>): HandOverOutcome {
  const { reply, stage } = outcome;
  if (stage === 'mail' && aboutTheSession(reply))
    return { kind: 'fault', reason: `mail refused: ${replyCodes(reply)}` };
  const response = diagnosticOf(reply);
  const verdict = classifyBounce({ ...reply, stage });
  if (reply.code < 500) {
    return verdict.kind === 'bounce'
      ? { kind: 'deferred', response, expiresAs: verdict.bounce }
      : { kind: 'deferred', response };
  }
  if (verdict.kind === 'bounce') return { kind: 'bounced', bounce: verdict.bounce, response };
  return { kind: 'refused', code: verdict.kind, response };
}

/** Translates the outcome of an SMTP submission. Only a reply about the message itself is a verdict on it. */
export function smtpVerdict(outcome: SmtpOutcome): HandOverOutcome {
  switch (outcome.kind) {
    case 'accepted':
      return {
        kind: 'accepted',
        providerMessageId: null,
        response: diagnosticOf(outcome.reply),
        delivered: false,
      };
    case 'refused':
      return refused(outcome);
    case 'unsupported': {
      const code = outcome.capability === 'size' ? 'content_rejected' : 'invalid_recipient';
      return { kind: 'refused', code, response: outcome.message };
    }
    case 'not_sent':
      // This message cannot be sent to any server, so the failure is not the provider's.
      if (outcome.error instanceof SmtpInputError) {
        return { kind: 'refused', code: 'invalid_recipient', response: outcome.error.message };
      }
      return { kind: outcome.inTransfer ? 'lost' : 'fault', reason: outcome.error.message };
    case 'left':
      return { kind: 'not_tried' };
    case 'ambiguous':
      return { kind: 'unknown', reason: outcome.error.message };
  }
}
