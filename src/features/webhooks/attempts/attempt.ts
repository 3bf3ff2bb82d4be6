import type { Egress } from '../../../platform/egress/client.ts';
import type { EgressResult } from '../../../platform/egress/exchange.ts';
import { signatureHeaders, webhookIdOf } from '../signature.ts';
import type { Endpoint } from './endpoint.ts';

export const WEBHOOK_USER_AGENT = 'Carillon-Webhooks/1';
const DEADLINE_MS = 10_000;
const RESPONSE_BYTES = 64 * 1024;
const EXCERPT_CHARACTERS = 1_024;

/** A webhook delivery whose next attempt is due. */
export interface DueDelivery {
  deliveryId: number;
  /** Of both the delivery and the event: ISO 8601 in UTC with microseconds, see `exactTime`. */
  createdAt: string;
  webhookId: number;
  generation: number;
  /** Number of this attempt, from 1. */
  attempt: number;
  eventId: string;
  type: string;
  occurredAt: Date;
  /** The event's data, as the JSON text that was stored. */
  data: string;
}

/** A webhook delivery whose event no longer exists: there is nothing to send. */
interface EventlessDelivery extends Omit<DueDelivery, 'type' | 'occurredAt' | 'data'> {
  type: null;
  occurredAt: null;
  data: null;
}

export type WebhookDelivery = DueDelivery | EventlessDelivery;

export function hasEvent(delivery: WebhookDelivery): delivery is DueDelivery {
  return delivery.data !== null;
}

export interface AttemptOutcome {
  delivered: boolean;
  startedAt: Date;
  durationMs: number;
  timedOut: boolean;
  responseCode: number | null;
  /** Null if delivered; else such as `status 500` or `timeout: …`, at most 200 characters. */
  error: string | null;
  /** The first 1,024 characters of the response body. */
  excerpt: string | null;
  /** From the response's `Retry-After`. */
  retryAfterSeconds: number | null;
}

/** What the body of a request says. */
export type SentEvent = Pick<DueDelivery, 'type' | 'occurredAt' | 'data'>;

/** The body of a webhook request (interface §6.1). The signature is over exactly these bytes. */
export function requestBody(event: SentEvent): string {
  return `{"type":${JSON.stringify(event.type)},"timestamp":"${event.occurredAt.toISOString()}","data":${event.data}}`;
}

/** Parses `Retry-After` (RFC 9110, section 10.2.3). @returns seconds; null if the header is absent or unreadable */
export function readRetryAfter(value: string | string[] | undefined, now: number): number | null {
  const text = Array.isArray(value) ? value[0] : value;
  if (text === undefined) return null;
  if (/^\d{1,9}$/.test(text.trim())) return Number(text);
  const date = /[a-z]{3}/i.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(date) ? null : Math.max(0, Math.ceil((date - now) / 1_000));
}

function excerptOf(body: Buffer): string | null {
  if (body.length === 0) return null;
  const text = body.subarray(0, EXCERPT_CHARACTERS).toString('utf8').replaceAll('\u0000', '');
  return text.slice(0, EXCERPT_CHARACTERS).toWellFormed();
}

function outcomeOf(result: EgressResult, startedAt: Date): AttemptOutcome {
  const { durationMs } = result;
  const none = { startedAt, durationMs, timedOut: false, excerpt: null, retryAfterSeconds: null };
  if (!result.ok) {
    const { reason, message, statusCode } = result;
    const error = `${reason}: ${message}`.slice(0, 200);
    return { ...none, delivered: false, timedOut: reason === 'timeout', responseCode: statusCode, error };
  }
  const { statusCode: responseCode } = result;
  const delivered = responseCode >= 200 && responseCode < 300;
  return {
    ...none,
    delivered,
    responseCode,
    error: delivered ? null : `status ${responseCode}`,
    excerpt: excerptOf(result.body),
    retryAfterSeconds: delivered ? null : readRetryAfter(result.headers['retry-after'], Date.now()),
  };
}

/** The outcome if no secret of the endpoint can be opened: a request without a signature is never sent. */
function unsignedOutcome(startedAt: Date): AttemptOutcome {
  const error = 'secret: it was sealed with another APP_SECRET and does not open';
  const none = { responseCode: null, excerpt: null, retryAfterSeconds: null };
  return { ...none, delivered: false, startedAt, durationMs: 0, timedOut: false, error };
}

/**
 * Makes one attempt. Any 2xx within 10 s delivers the event; everything else fails, redirects included (interface §6.5).
 * Never throws.
 * @param endpoint just read, enabled, and of the delivery's generation
 * @param startedAt by the caller's clock, which may be a workflow's; the signature always uses this machine's clock
 */
export async function attemptDelivery(
  egress: Egress,
  endpoint: Endpoint,
  due: DueDelivery,
  startedAt: Date,
): Promise<AttemptOutcome> {
  if (endpoint.keys.length === 0) return unsignedOutcome(startedAt);
  const body = requestBody(due);
  const result = await egress.request({
    url: endpoint.url,
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...signatureHeaders(endpoint.keys, webhookIdOf(due.eventId), new Date(), body),
    },
    body,
    timeoutMs: DEADLINE_MS,
    maxResponseBytes: RESPONSE_BYTES,
    // Subscribers deduplicate on the event's id.
    repeatable: true,
  });
  return outcomeOf(result, startedAt);
}
