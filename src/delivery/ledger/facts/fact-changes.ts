import { recipientKey } from '../../terms/channels/recipient.ts';
import { clipText } from '../../terms/bounces.ts';
import type { EmailEventSource } from '../../terms/events.ts';
import type { DeliveryFact } from './delivery-fact.ts';
import {
  type Bounce,
  type MessageEventType,
  type MessageStatus,
  openStatuses,
  transitions,
} from '../../terms/message.ts';
import type { SuppressionReason } from '../consent/suppressions.ts';

/** A message as stored in the database, with its row locked. */
export interface ReportedMessage extends EmailEventSource {
  status: MessageStatus;
  test: boolean;
  /** Null until the outcome of a hand-over is recorded, or if the recipient is not a contact of the brand. */
  contactId: number | null;
  createdAt: Date;
  attemptCount: number;
  provider: string | null;
  providerMessageId: string | null;
  sentAttempt: number | null;
  sentAt: Date | null;
  deliveredAt: Date | null;
  /** When the bounce in `bounce` happened, if that is known. */
  bouncedAt: Date | null;
  response: string | null;
  failure: { code: string; message: string } | null;
  bounce: Bounce | null;
  /** The provider of the open hand-over. */
  intendedProvider: string | null;
  intendedAttempt: number | null;
  /** Other providers that had the message before and now report about it, with the last attempt of each. */
  earlier: ReadonlyMap<string, number>;
}

/** An event of the message for `message_events`. */
export interface FactEvent {
  messageId: number;
  attempt: number;
  type: MessageEventType;
  occurredAt: Date;
  provider: string | null;
  response: string | null;
  failure: ReportedMessage['failure'];
  bounce: Bounce | null;
}

/** What a published event contains besides the message. */
export interface PublishedFact {
  type: MessageEventType;
  occurredAt: Date;
  response: string | null;
}

const isFailure = (status: MessageStatus) => status === 'bounced' || status === 'failed';

/** What facts change. */
export interface FactChange {
  /** The message after the change. */
  message: ReportedMessage;
  /** Whether the message itself changes, not only its events. */
  changed: boolean;
  /** Whether the facts have set `sentAt`. */
  sentNow: boolean;
  /** Whether the facts have set `deliveredAt`. */
  deliveredNow: boolean;
  /** When the message bounced, if it had not bounced before. */
  firstBouncedAt: Date | null;
  /** When the recipient complained, if the facts say so. */
  complainedAt: Date | null;
  /** Whether the message failed or bounced, for the first time. */
  failedNow: boolean;
  /** Whether the message had no outcome and has one now, so that it leaves the queue. */
  settled: boolean;
  /**
   * Whether the message's reservation is returned, or was before: the message is not charged, although a provider had
   * it.
   */
  unsent: boolean;
  /** The last attempt that the facts are about. */
  attempt: number;
  suppress: SuppressionReason | null;
  /** Whether `suppress` counts in the rates of the account. */
  counted: boolean;
  /** Whether the recipient opted out of the brand's messages at the provider. */
  optedOut: boolean;
  stored: FactEvent[];
  published: PublishedFact[];
  /** Number of facts that were believed and new. */
  recorded: number;
}

/**
 * Whether a fact counts for the message. Anyone with an account at a provider could report about any message there, and
 * a reference could leak, so a callback must come from a provider that has the message or had it.
 */
function isBelieved({ accountId, source }: DeliveryFact, message: ReportedMessage): boolean {
  if (accountId !== message.accountId || message.test) return false;
  return (
    source.kind === 'mail' ||
    source.provider === message.provider ||
    source.provider === message.intendedProvider ||
    message.earlier.has(source.provider)
  );
}

/** The attempt that a fact is about, and its provider. */
function attemptOf({ source }: DeliveryFact, message: ReportedMessage) {
  const { intendedAttempt, intendedProvider, provider, sentAttempt, attemptCount } = message;
  const earlierAttempt = source.kind === 'callback' ? message.earlier.get(source.provider) : undefined;
  if (source.kind === 'callback' && earlierAttempt !== undefined) {
    return { attempt: earlierAttempt, provider: source.provider };
  }
  if (sentAttempt !== null) return { attempt: sentAttempt, provider };
  const isIntended =
    intendedAttempt !== null && (source.kind === 'mail' || source.provider === intendedProvider);
  if (isIntended) return { attempt: intendedAttempt, provider: intendedProvider };
  return { attempt: Math.max(1, attemptCount), provider };
}

/**
 * A fact being applied to a {@link FactChange}. Its texts are clipped, and its time is between the message's creation
 * and now.
 */
interface Step {
  change: FactChange;
  fact: DeliveryFact;
  at: Date;
  attempt: number;
  provider: string | null;
}

function move(message: ReportedMessage, next: MessageStatus): void {
  if (!transitions[message.status].includes(next)) return;
  message.status = next;
  if (next !== 'failed') message.failure = null;
}

function store({ change, fact, at, attempt, provider }: Step, type: MessageEventType): void {
  const { response, failure, bounce } = fact;
  const { messageId } = fact;
  change.stored.push({ messageId, attempt, type, occurredAt: at, provider, response, failure, bounce });
}

function publish({ change, fact, at }: Step, type: MessageEventType): void {
  change.published.push({ type, occurredAt: at, response: fact.response });
}

/** Marks the message as sent: most facts show that a provider had accepted it. */
function showSent(step: Step, response: string | null): void {
  const { change, fact, at, attempt, provider } = step;
  const { message } = change;
  change.changed = true;
  if (message.sentAt !== null) return;
  message.sentAt = at;
  message.sentAttempt = attempt;
  message.provider = provider;
  message.providerMessageId = fact.providerMessageId ?? message.providerMessageId;
  message.response = response;
  change.sentNow = true;
  publish(step, 'sent');
}

function accepted(step: Step): boolean {
  if (step.change.message.sentAt !== null) return false;
  showSent(step, step.fact.response);
  move(step.change.message, 'sent');
  return true;
}

function delivered(step: Step): boolean {
  const { message } = step.change;
  if (message.deliveredAt !== null) return false;
  const { response } = step.fact;
  // The message's row has only one response, that of the accepted attempt.
  if (message.sentAt !== null && response !== null) {
    store({ ...step, attempt: message.sentAttempt ?? step.attempt, provider: message.provider }, 'delivered');
  }
  showSent(step, response);
  message.deliveredAt = step.at;
  step.change.deliveredNow = true;
  publish(step, 'delivered');
  const bouncedLater =
    message.status === 'bounced' &&
    message.bounce?.type === 'hard' &&
    message.bouncedAt !== null &&
    message.bouncedAt >= step.at;
  if (!bouncedLater) move(message, 'delivered');
  return true;
}

/** Whether a message in this state may bounce, or may have bounced before it reached the state. */
function mayHaveBounced(status: MessageStatus): boolean {
  return (
    status === 'bounced' || transitions[status].includes('bounced') || transitions.bounced.includes(status)
  );
}

function setBounce(change: FactChange, bounce: Bounce, at: Date): void {
  const { message } = change;
  if (message.bounce === null) change.firstBouncedAt = at;
  message.bounce = bounce;
  message.bouncedAt = at;
}

function bounced(step: Step): boolean {
  const { change, fact, at } = step;
  const { message } = change;
  const bounce = fact.bounce;
  if (bounce !== null && !mayHaveBounced(message.status)) {
    store(step, 'bounced');
    return true;
  }
  if (bounce === null || (bounce.type === 'soft' && message.deliveredAt !== null)) return false;
  if (message.bounce !== null && !(message.bounce.type === 'soft' && bounce.type === 'hard')) return false;
  showSent(step, null);
  setBounce(change, bounce, at);
  store(step, 'bounced');
  publish(step, 'bounced');
  if (fact.suppresses && bounce.type === 'hard') {
    change.suppress = 'hard_bounce';
    change.counted = true;
  }
  if (fact.suppresses) change.suppress ??= 'soft_bounce';
  const deliveredLater = message.deliveredAt !== null && message.deliveredAt > at;
  if (!deliveredLater) move(message, 'bounced');
  return true;
}

function isTrustedComplaint({ complainant }: DeliveryFact, { channel, to }: ReportedMessage): boolean {
  if (complainant === undefined) return true;
  const key = recipientKey(channel, complainant);
  return key !== null && key === recipientKey(channel, to);
}

function complained(step: Step): boolean {
  const { change, fact, at } = step;
  showSent(step, null);
  move(change.message, 'complained');
  change.complainedAt = at;
  store(step, 'complained');
  publish(step, 'complained');
  if (fact.suppresses) {
    change.suppress = 'complaint';
    change.counted = isTrustedComplaint(fact, change.message);
  }
  return true;
}

function failed(step: Step): boolean {
  const { change, fact } = step;
  if (fact.failure === null) return false;
  showSent(step, null);
  move(change.message, 'failed');
  change.message.failure = fact.failure;
  change.optedOut ||= fact.optedOut === true;
  store(step, 'failed');
  publish(step, 'failed');
  return true;
}

/** @returns whether the fact is new */
function applyFact(step: Step): boolean {
  const { status } = step.change.message;
  if (status === 'skipped' || status === 'canceled') return false;
  switch (step.fact.type) {
    case 'accepted':
      return accepted(step);
    case 'delivered':
      return delivered(step);
    case 'bounced':
      return bounced(step);
    case 'complained':
      return transitions[status].includes('complained') && complained(step);
    case 'failed':
      return transitions[status].includes('failed') && failed(step);
    case 'deferred':
      store(step, 'deferred');
      return true;
  }
}

const clipped = (text: string | null) => (text === null ? null : clipText(text));

/** Replaces a provider's text about a message whose contact was deleted, because such texts quote the address. */
const REMOVED = 'removed with the contact';

/**
 * Removes from texts of the provider what PostgreSQL cannot store. If the contact was deleted, the message has no
 * address, and texts are not stored either.
 */
function clean(fact: DeliveryFact, { to }: ReportedMessage): DeliveryFact {
  const { bounce, failure } = fact;
  if (to === null) {
    return {
      ...fact,
      providerMessageId: clipped(fact.providerMessageId),
      response: null,
      bounce: bounce && { ...bounce, diagnostic: REMOVED },
      failure: failure && { ...failure, message: REMOVED },
    };
  }
  return {
    ...fact,
    providerMessageId: clipped(fact.providerMessageId),
    response: clipped(fact.response),
    bounce: bounce && { ...bounce, diagnostic: clipText(bounce.diagnostic) },
    failure: failure && { ...failure, message: clipText(failure.message) },
  };
}

function timeOf({ occurredAt }: DeliveryFact, { createdAt }: ReportedMessage, now: Date): Date {
  const time = occurredAt.getTime();
  if (Number.isNaN(time)) return now;
  return new Date(Math.min(Math.max(time, createdAt.getTime()), now.getTime()));
}

/**
 * Applies facts to their message. The facts of one call are applied in the order in which they happened. Otherwise the
 * result does not depend on the order in which facts arrive, and a fact that is applied again changes nothing.
 * @param facts all about this message
 */
export function applyFacts(before: ReportedMessage, facts: readonly DeliveryFact[], now: Date): FactChange {
  const message = { ...before };
  const change: FactChange = {
    message,
    changed: false,
    sentNow: false,
    deliveredNow: false,
    firstBouncedAt: null,
    complainedAt: null,
    failedNow: false,
    settled: false,
    unsent: false,
    attempt: before.attemptCount,
    suppress: null,
    counted: false,
    optedOut: false,
    stored: [],
    published: [],
    recorded: 0,
  };
  const ordered = facts
    .filter((fact) => isBelieved(fact, before))
    .map((fact) => ({ fact: clean(fact, before), at: timeOf(fact, before, now) }))
    .sort((one, other) => one.at.getTime() - other.at.getTime());
  for (const { fact, at } of ordered) {
    const { attempt, provider } = attemptOf(fact, message);
    if (!applyFact({ change, fact, at, attempt, provider })) continue;
    change.recorded += 1;
    change.attempt = Math.max(change.attempt, attempt);
  }
  change.failedNow = !isFailure(before.status) && isFailure(message.status);
  change.settled = openStatuses.includes(before.status) && !openStatuses.includes(message.status);
  change.unsent =
    (change.settled && message.status === 'failed') || (change.sentNow && isFailure(before.status));
  return change;
}
