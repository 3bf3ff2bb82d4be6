import type { Bounce } from '../message.ts';
import { SmtpInputError } from '../smtp/connection-error.ts';
import { replyCodes } from '../smtp/dialogue.ts';
import type { SmtpOutcome } from '../smtp/contract.ts';
import type { SmtpReply } from '../smtp/reply-parser.ts';
import type { HandOverOutcome } from './port.ts';

/** Enhanced codes (RFC 3463) that reject the address itself in a reply to RCPT, with the bounce's subtype. */
const hardBounceCodes: Record<string, string> = {
  '5.1.1': 'no_such_mailbox',
  '5.1.2': 'no_such_domain',
  '5.1.3': 'bad_address',
  '5.1.6': 'moved',
  '5.1.10': 'null_mx',
  '5.2.1': 'mailbox_disabled',
};

function text(reply: SmtpReply): string {
  return `${reply.code} ${reply.enhanced ? `${reply.enhanced} ` : ''}${reply.text}`.trim();
}

function refusedRecipient(reply: SmtpReply): HandOverOutcome {
  const response = text(reply);
  const subtype =
    reply.enhanced === null
      ? reply.code === 550
        ? 'no_such_mailbox'
        : null
      : hardBounceCodes[reply.enhanced];
  if (!subtype) return refusedMessage(reply);
  const bounce: Bounce = { type: 'hard', subtype, diagnostic: response };
  return { kind: 'bounced', bounce, response };
}

function refusedMessage(reply: SmtpReply): HandOverOutcome {
  const response = text(reply);
  const enhanced = reply.enhanced ?? '';
  if (enhanced === '5.1.7' || enhanced === '5.1.8')
    return { kind: 'refused', code: 'sender_rejected', response };
  if (/^5\.[67]\./.test(enhanced) || enhanced === '5.3.4' || enhanced === '5.2.3' || reply.code === 552) {
    return { kind: 'refused', code: 'content_rejected', response };
  }
  return { kind: 'refused', code: 'rejected', response };
}

/** Replies to MAIL that are not about the message: the connection ends, or the server accepts no mail from us. */
function aboutTheSession(reply: SmtpReply): boolean {
  if ([421, 500, 501, 502, 503, 504, 530, 534, 535, 538].includes(reply.code)) return true;
  return reply.code === 554 && (reply.enhanced === null || reply.enhanced.startsWith('5.7.'));
}

function refused(outcome: Extract<SmtpOutcome, { kind: 'refused' }>): HandOverOutcome {
  const { reply, stage } = outcome;
  if (stage === 'mail' && aboutTheSession(reply))
    return { kind: 'fault', reason: `mail refused: ${replyCodes(reply)}` };
  if (reply.code < 500) return { kind: 'deferred', response: text(reply) };
  return stage === 'rcpt' ? refusedRecipient(reply) : refusedMessage(reply);
}

/** Translates the outcome of an SMTP submission. Only a reply about the message itself is a verdict on it. */
export function smtpVerdict(outcome: SmtpOutcome): HandOverOutcome {
  switch (outcome.kind) {
    case 'accepted':
      return { kind: 'accepted', providerMessageId: null, response: text(outcome.reply), delivered: false };
    case 'refused':
      return refused(outcome);
    case 'unsupported': {
      const code = outcome.capability === 'size' ? 'content_rejected' : 'invalid_recipient';
      return { kind: 'refused', code, response: outcome.message };
    }
    case 'not_sent':
      // No server could be sent this message, so the failure is not the provider's.
      if (outcome.error instanceof SmtpInputError) {
        return { kind: 'refused', code: 'invalid_recipient', response: outcome.error.message };
      }
      return { kind: outcome.inTransfer ? 'lost' : 'fault', reason: outcome.error.message };
    case 'ambiguous':
      return { kind: 'unknown', reason: outcome.error.message };
  }
}
