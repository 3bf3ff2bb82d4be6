import type { Refusal } from '../limits/authority.ts';
import type { Bounce, FailureCode, MessageStatus } from '../message.ts';
import type { HandOverOutcome } from '../providers/port.ts';
import type { BatchMessage } from './batch.ts';

/** How long a message may wait in all, for capacity or for a provider that refuses it for now. */
export const MESSAGE_LIFETIME_HOURS = 72;

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const FIRST_DELAYS = [1 * MINUTE, 5 * MINUTE, 15 * MINUTE];

/**
 * Seconds until the next attempt after a passing refusal: 1, 5, 15 minutes, then 1, 2, 4, 8 … hours.
 * @param attempt the attempt that was refused, from 1
 */
export function retryDelaySeconds(attempt: number): number {
  const early = FIRST_DELAYS[attempt - 1];
  if (early !== undefined) return early;
  return Math.min(HOUR * 2 ** (attempt - 1 - FIRST_DELAYS.length), MESSAGE_LIFETIME_HOURS * HOUR);
}

export type MessageEventType = 'sent' | 'delivered' | 'bounced' | 'deferred' | 'failed' | 'unknown';

/** What is written down for one message of a window. */
export interface OutcomeRecord {
  messageId: number;
  attempt: number;
  epoch: number;
  /** null: the message stays as it is. */
  status: MessageStatus | null;
  events: MessageEventType[];
  /** What becomes of the queue row: `release` gives it back unchanged. */
  queue: 'delete' | 'retry' | 'release';
  delaySeconds: number;
  provider: string | null;
  providerMessageId: string | null;
  response: string | null;
  failure: { code: FailureCode; message: string } | null;
  bounce: Bounce | null;
  /** Whether the recipient's address is suppressed from now on. */
  suppress: boolean;
  /** Whether the reservation of the allowance returns, because nothing was sent. */
  giveBack: boolean;
}

const MAX_TEXT = 500;
const HOUR_MS = 3_600_000;

function base(message: BatchMessage, provider: string | null): OutcomeRecord {
  return {
    messageId: message.messageId,
    attempt: message.attempt,
    epoch: message.epoch,
    status: null,
    events: [],
    queue: 'delete',
    delaySeconds: 0,
    provider,
    providerMessageId: null,
    response: null,
    failure: null,
    bounce: null,
    suppress: false,
    giveBack: false,
  };
}

/** At most 500 characters that PostgreSQL can keep: no NUL, no half of a surrogate pair. */
function clip(text: string): string {
  return text.slice(0, MAX_TEXT).replaceAll('\0', '').toWellFormed();
}

function failed(settlement: OutcomeRecord, code: FailureCode, text: string): OutcomeRecord {
  const message = clip(text);
  return { ...settlement, status: 'failed', events: ['failed'], failure: { code, message }, giveBack: true };
}

function deferred(message: BatchMessage, settlement: OutcomeRecord, response: string): OutcomeRecord {
  const delaySeconds = retryDelaySeconds(message.attempt);
  const ends = message.queuedAt.getTime() + MESSAGE_LIFETIME_HOURS * HOUR_MS;
  if (Date.now() + delaySeconds * 1000 > ends) return failed(settlement, 'expired', response);
  return { ...settlement, status: 'queued', events: ['deferred'], queue: 'retry', delaySeconds, response };
}

function unknown(message: BatchMessage, settlement: OutcomeRecord, reason: string): OutcomeRecord {
  // A transactional message is handed over again, byte for byte; all others wait for a fact.
  const queue = message.class === 0 ? 'retry' : 'delete';
  const delaySeconds = message.attempt === 1 ? 1 : retryDelaySeconds(message.attempt - 1);
  return { ...settlement, status: 'unknown', events: ['unknown'], queue, delaySeconds, response: reason };
}

/** What a provider's outcome means for the message. */
export function outcomeRecord(
  message: BatchMessage,
  provider: string,
  outcome: HandOverOutcome,
): OutcomeRecord {
  const settlement = settle(message, provider, outcome);
  return { ...settlement, response: settlement.response === null ? null : clip(settlement.response) };
}

function settle(message: BatchMessage, provider: string, outcome: HandOverOutcome): OutcomeRecord {
  const settlement = base(message, provider);
  switch (outcome.kind) {
    case 'accepted': {
      const response = outcome.response;
      const { providerMessageId } = outcome;
      return outcome.delivered
        ? { ...settlement, status: 'delivered', events: ['sent', 'delivered'], providerMessageId, response }
        : { ...settlement, status: 'sent', events: ['sent'], providerMessageId, response };
    }
    case 'deferred':
      return deferred(message, settlement, outcome.response);
    case 'bounced': {
      const { bounce } = outcome;
      return {
        ...settlement,
        status: 'bounced',
        events: ['bounced'],
        bounce: { ...bounce, diagnostic: clip(bounce.diagnostic) },
        suppress: bounce.type === 'hard',
        response: outcome.response,
      };
    }
    case 'refused':
      return failed(settlement, outcome.code, outcome.response);
    case 'fault':
    case 'not_tried':
      return { ...settlement, queue: 'release' };
    case 'unknown':
      return unknown(message, settlement, outcome.reason);
  }
}

/** What a check's refusal means for the message; nothing was handed over. */
export function refusalRecord(message: BatchMessage, refusal: Refusal): OutcomeRecord {
  const settlement = base(message, null);
  switch (refusal) {
    case 'gone':
      return { ...settlement, giveBack: true };
    case 'account_paused':
      // Due at once: the next claim sees the pause and holds it.
      return { ...settlement, queue: 'release' };
    case 'expired':
      return failed(settlement, 'expired', `not sent within ${MESSAGE_LIFETIME_HOURS} hours`);
    case 'suppressed':
      return failed(settlement, 'suppressed', 'the address is suppressed');
    case 'content_missing':
      return failed(settlement, 'content_rejected', 'the content is no longer kept');
  }
}
