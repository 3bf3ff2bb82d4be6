import { clipText } from '../../terms/bounces.ts';
import { refusalRule } from '../limits/authority.ts';
import { isPaidBySegment } from '../../terms/units.ts';
import {
  type Bounce,
  type FailureCode,
  MESSAGE_LIFETIME_HOURS,
  messageClasses,
  type MessageEventType,
  type MessageStatus,
  type SkipCode,
} from '../../terms/message.ts';
import type { EmailEventSource } from '../../terms/events.ts';
import type { HandOverOutcome } from '../../terms/hand-over-outcome.ts';
import type { BatchMessage, CampaignRefusal, StoppedRefusal } from '../intend/batch.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const FIRST_DELAYS = [1 * MINUTE, 5 * MINUTE, 15 * MINUTE];

/**
 * Returns the seconds until the next attempt after a temporary refusal: 1, 5, 15 minutes, then 1, 2, 4, 8 … hours.
 * @param attempt the attempt that was refused, counted from 1
 */
export function retryDelaySeconds(attempt: number): number {
  const early = FIRST_DELAYS[attempt - 1];
  if (early !== undefined) return early;
  return Math.min(HOUR * 2 ** (attempt - 1 - FIRST_DELAYS.length), MESSAGE_LIFETIME_HOURS * HOUR);
}

/** What to record about one message of a batch. */
export interface OutcomeRecord {
  message: EmailEventSource;
  messageId: number;
  attempt: number;
  epoch: number;
  /** The new state; null: the message stays as it is. */
  status: MessageStatus | null;
  events: MessageEventType[];
  /**
   * What happens to the queue row. `release` gives the claim back and leaves the row as it was. `postpone` does the
   * same, but makes the message due later, without counting an attempt. `enqueue` creates a row for a message in a
   * campaign block.
   */
  queue: 'delete' | 'retry' | 'release' | 'postpone' | 'enqueue';
  /** Seconds until the next attempt, with `retry`, `postpone` and `enqueue`. */
  delaySeconds: number;
  provider: string | null;
  providerMessageId: string | null;
  response: string | null;
  failure: { code: FailureCode; message: string } | null;
  bounce: Bounce | null;
  /** Whether to suppress the recipient's address. */
  suppress: boolean;
  /** Whether to return the message's reservations, because it was not sent. */
  giveBack: boolean;
  /** Set if the message was not handed over although `provider` is not null. */
  unattempted?: true;
  /** Whether the message may have reserved its price. */
  priced: boolean;
  /** How many emails or segments the message is charged; null: all that it has reserved. Ignored with `giveBack`. */
  keep: number | null;
  /** Number of segments of an SMS that was accepted. */
  segments?: number;
  /** Whether the recipient may be a contact of the brand. */
  hasContacts: boolean;
  /** The version that the message was rendered from; null: its content is stored, or the version does not change. */
  versionId: number | null;
  /** With `enqueue`: bytes of its content. */
  bytes?: number;
  /** With `enqueue`: how many connections were lost with the message. If set, no attempt is counted. */
  losses?: number;
}

const HOUR_MS = HOUR * 1_000;

function emptyRecord(message: BatchMessage, provider: string | null): OutcomeRecord {
  return {
    message,
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
    priced: message.priced === true,
    keep: null,
    hasContacts: message.hasContacts,
    // The version of a flow's message is fixed when the message is written.
    versionId: message.class === messageClasses.campaign ? message.contentVersionId : null,
  };
}

function failed(record: OutcomeRecord, code: FailureCode, text: string): OutcomeRecord {
  const message = clipText(text);
  return { ...record, status: 'failed', events: ['failed'], failure: { code, message }, giveBack: true };
}

/**
 * Ends a message that may have been sent. It is not known to have failed, so no event is published (interface §6.3),
 * and its reservation is used up.
 */
function endedUnknown(record: OutcomeRecord, code: FailureCode, text: string): OutcomeRecord {
  const message = clipText(`an earlier attempt may have sent it; ${text}`);
  return { ...record, status: 'unknown', events: ['unknown'], failure: { code, message } };
}

/** Ends a message that is not handed over again. */
function ended(message: BatchMessage, record: OutcomeRecord, code: FailureCode, text: string): OutcomeRecord {
  return message.uncertain ? endedUnknown(record, code, text) : failed(record, code, text);
}

function bounced(record: OutcomeRecord, bounce: Bounce, response: string): OutcomeRecord {
  // A provider's suppression list covers all senders of the provider account, so it says nothing certain about this
  // one.
  const suppress = bounce.type === 'hard' && bounce.subtype !== 'provider_suppressed';
  const clipped = { ...bounce, diagnostic: clipText(bounce.diagnostic) };
  return { ...record, status: 'bounced', events: ['bounced'], bounce: clipped, suppress, response };
}

/** @param expiresAs the bounce to record if the message cannot be tried again; null: it fails */
function deferred(
  message: BatchMessage,
  record: OutcomeRecord,
  response: string,
  expiresAs: Bounce | null = null,
): OutcomeRecord {
  const delaySeconds = retryDelaySeconds(message.attempt);
  const expiresAt = message.queuedAt.getTime() + MESSAGE_LIFETIME_HOURS * HOUR_MS;
  if (Date.now() + delaySeconds * 1_000 > expiresAt) {
    return expiresAs !== null && !message.uncertain
      ? bounced(record, expiresAs, response)
      : ended(message, record, 'expired', response);
  }
  return { ...record, status: 'queued', events: ['deferred'], queue: 'retry', delaySeconds, response };
}

function unknown(
  message: BatchMessage,
  record: OutcomeRecord,
  reason: string,
  reportSeconds: number,
  repeatable: boolean,
): OutcomeRecord {
  // Transactional messages are handed over again, byte for byte, and so is every message that the provider would
  // recognize, or whose flow prefers a duplicate. All others wait for a late report, such as a bounce.
  const again = repeatable || message.class === messageClasses.transactional || message.resends === true;
  const queue = again ? 'retry' : 'delete';
  const retrySeconds = message.attempt === 1 ? 1 : retryDelaySeconds(message.attempt - 1);
  const delaySeconds = Math.max(retrySeconds, reportSeconds);
  return { ...record, status: 'unknown', events: ['unknown'], queue, delaySeconds, response: reason };
}

/**
 * Returns what to record about a message for the outcome that its provider reported.
 * @param reportSeconds how long a message whose outcome is unknown waits for a report before it is handed over again
 * @param repeatable whether the provider recognizes a message that it already has
 */
export function outcomeRecord(
  message: BatchMessage,
  provider: string,
  outcome: HandOverOutcome,
  reportSeconds = 0,
  repeatable = false,
): OutcomeRecord {
  const record = unclippedRecord(message, emptyRecord(message, provider), outcome, reportSeconds, repeatable);
  return {
    ...record,
    response: record.response === null ? null : clipText(record.response),
    keep: keptOf(message, record, outcome),
    ...segmentsOf(message, outcome),
  };
}

const segmentsOf = ({ channel }: BatchMessage, outcome: HandOverOutcome): Pick<OutcomeRecord, 'segments'> =>
  isPaidBySegment(channel) && outcome.kind === 'accepted' && outcome.segments !== undefined
    ? { segments: outcome.segments }
    : {};

/**
 * How much the message is charged: a text may be shorter than its template allows, and a bounce at hand-over is free.
 */
function keptOf(
  { channel }: BatchMessage,
  { status }: OutcomeRecord,
  outcome: HandOverOutcome,
): number | null {
  if (status === 'bounced') return 0;
  return isPaidBySegment(channel) && outcome.kind === 'accepted' ? (outcome.segments ?? null) : null;
}

function unclippedRecord(
  message: BatchMessage,
  record: OutcomeRecord,
  outcome: HandOverOutcome,
  reportSeconds: number,
  repeatable: boolean,
): OutcomeRecord {
  switch (outcome.kind) {
    case 'accepted': {
      const { providerMessageId, response } = outcome;
      return outcome.delivered
        ? { ...record, status: 'delivered', events: ['sent', 'delivered'], providerMessageId, response }
        : { ...record, status: 'sent', events: ['sent'], providerMessageId, response };
    }
    case 'deferred':
      return deferred(message, record, outcome.response, outcome.expiresAs);
    case 'bounced':
      return bounced(record, outcome.bounce, outcome.response);
    case 'refused':
      return failed(record, outcome.code, outcome.response);
    case 'fault':
    case 'lost':
    case 'not_tried':
      return { ...record, queue: 'release' };
    case 'not_composed':
      return outcome.final
        ? { ...ended(message, record, 'content_rejected', outcome.response), unattempted: true }
        : deferred(message, record, outcome.response);
    case 'unknown':
      return unknown(message, record, outcome.reason, reportSeconds, repeatable);
  }
}

/**
 * Returns what to record about the messages of a batch.
 * @param outcomes of the messages whose verdict is `send`, in their order
 * @param reportSeconds see {@link outcomeRecord}
 * @param repeatable see {@link outcomeRecord}
 */
export function outcomeRecords(
  provider: string,
  messages: readonly BatchMessage[],
  outcomes: readonly HandOverOutcome[],
  reportSeconds = 0,
  repeatable = false,
): OutcomeRecord[] {
  const refused = messages.flatMap((message) =>
    message.verdict === 'send' ? [] : [refusalRecord(message, message.verdict)],
  );
  const handedOver = messages.filter((message) => message.verdict === 'send');
  const recorded = handedOver.map((message, index) =>
    outcomeRecord(
      message,
      provider,
      outcomes[index] ?? { kind: 'unknown', reason: 'no outcome' },
      reportSeconds,
      repeatable,
    ),
  );
  return [...refused, ...recorded];
}

const skipRefusals: readonly BatchMessage['verdict'][] = [
  'unsubscribed',
  'contact_deleted',
  'no_address',
  'no_price',
] satisfies CampaignRefusal[];

const isSkip = (refusal: BatchMessage['verdict']): refusal is Exclude<CampaignRefusal, StoppedRefusal> =>
  skipRefusals.includes(refusal);

const skipTexts: Record<SkipCode, string> = {
  unsubscribed: 'the contact has unsubscribed',
  suppressed: 'the address is suppressed',
  contact_deleted: 'the contact was deleted',
  no_address: 'the contact has no address',
  duplicate_address: 'another recipient of the campaign has the address',
  frequency_cap: 'the contact has received enough messages',
  no_price: 'the account has no price for SMS to this country',
};

function skipped(message: BatchMessage, record: OutcomeRecord, code: SkipCode): OutcomeRecord {
  if (message.uncertain) return endedUnknown(record, code, skipTexts[code]);
  const failure = { code, message: skipTexts[code] };
  return { ...record, status: 'skipped', failure, giveBack: true };
}

/** Cancels a message of a flow that was archived, or was resumed without the message. */
function canceled(message: BatchMessage, record: OutcomeRecord): OutcomeRecord {
  const text = 'the flow was archived, or resumed without its overdue messages';
  if (message.uncertain) return endedUnknown(record, 'canceled', text);
  return { ...record, status: 'canceled', failure: { code: 'canceled', message: text }, giveBack: true };
}

/** When to check a retry of a paused campaign again. */
const STOPPED_SECONDS = 300;

/**
 * Adapts the records of first attempts at recipients of a block, who have no queue row. A message that is tried again
 * gets one. So does a message that lost a connection, in order to be handed over alone. Other messages that were not
 * tried go back to the block.
 * @param outcomes of the messages `leaving`, in their order
 * @param bytes of the content of each message
 */
export function recordsOfBlock(
  records: readonly OutcomeRecord[],
  leaving: readonly BatchMessage[],
  outcomes: readonly HandOverOutcome[],
  bytes = 0,
): OutcomeRecord[] {
  const lost = new Set(
    leaving.flatMap(({ messageId }, n) => (outcomes[n]?.kind === 'lost' ? messageId : [])),
  );
  return records.map((record) => {
    if (record.queue === 'retry') return { ...record, queue: 'enqueue', bytes };
    // The rest of the block waits for the campaign.
    if (record.queue === 'postpone') return { ...record, queue: 'release' };
    if (lost.has(record.messageId)) return { ...record, queue: 'enqueue', delaySeconds: 0, losses: 1, bytes };
    return record;
  });
}

/** Returns what to record about a message that a limit refused before hand-over. */
export function refusalRecord(
  message: BatchMessage,
  refusal: Exclude<BatchMessage['verdict'], 'send'>,
): OutcomeRecord {
  const record = emptyRecord(message, null);
  if (refusal === 'campaign_stopped') {
    return { ...record, queue: 'postpone', delaySeconds: STOPPED_SECONDS };
  }
  // The intent statement has made the message wait for the resume, which may have released it since.
  if (refusal === 'flow_stopped') return { ...record, queue: 'release' };
  if (refusal === 'flow_ended') return canceled(message, record);
  if (isSkip(refusal)) return skipped(message, record, refusal);
  if (refusal === 'suppressed' && message.class !== messageClasses.transactional) {
    return skipped(message, record, refusal);
  }
  const rule = refusalRule(refusal);
  switch (rule.effect) {
    case 'drop':
      return { ...record, giveBack: true };
    case 'release':
      // The message stays due. The next claim sees that the limit applies, and holds the message.
      return { ...record, queue: 'release' };
    case 'fail':
      return ended(message, record, rule.code, rule.message);
  }
}
