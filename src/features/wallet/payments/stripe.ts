/**
 * Stripe: off-session PaymentIntents (https://docs.stripe.com/api/payment_intents) of a stored payment method, and signed
 * webhooks (https://docs.stripe.com/webhooks#verify-manually).
 */
import { timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { Egress } from '../../../platform/egress/client.ts';
import type { EgressResult } from '../../../platform/egress/exchange.ts';
import { macInHex } from '../../../platform/secrets/mac.ts';
import type {
  Payment,
  PaymentNotifications,
  PaymentOutcome,
  PaymentReport,
  PaymentRequest,
  PaymentService,
} from './port.ts';

const API_VERSION = '2024-06-20';
const TIMEOUT_MS = 30_000;
const MAX_RESPONSE_BYTES = 4 * 1024 * 1024;
/** Number of a customer's payments per page, and maximum number of pages to search. */
const PAGE = 100;
const MAX_PAGES = 20;
/** Stripe's clock may differ from ours. */
const CLOCK_SECONDS = 600;
/** The entry in a payment's metadata that contains the key of its request. */
const KEY_NAME = 'carillon_topup';
const TOLERANCE_SECONDS = 300;
/** Maximum number of signatures in a header to check. Stripe sends one for each valid secret. */
const MAX_SIGNATURES = 10;

const text = z.string().max(255);
const intentSchema = z.object({
  id: text,
  status: z.string(),
  amount: z.int(),
  amount_received: z.int().optional(),
  currency: z.string(),
  metadata: z.record(z.string(), z.string()).nullish(),
  last_payment_error: z.object({ code: text.nullish(), decline_code: text.nullish() }).nullish(),
});
type Intent = z.infer<typeof intentSchema>;

const listSchema = z.object({ data: z.array(intentSchema).max(PAGE), has_more: z.boolean() });
const errorSchema = z.object({
  error: z.object({
    type: text.nullish(),
    code: text.nullish(),
    decline_code: text.nullish(),
    payment_intent: intentSchema.nullish().catch(null),
  }),
});
const disputeSchema = z.object({
  id: text,
  amount: z.int(),
  currency: z.string(),
  payment_intent: text.nullish(),
  status: z.string().nullish(),
});
const eventSchema = z.object({ type: z.string(), data: z.object({ object: z.unknown() }) });

/** All other statuses count as failed: only a person could still make such a payment succeed. */
const statuses: Record<string, Payment['status']> = { succeeded: 'succeeded', processing: 'pending' };

function paymentOf(intent: Intent): Payment {
  const status = statuses[intent.status] ?? 'failed';
  const error = intent.last_payment_error;
  return {
    id: intent.id,
    key: intent.metadata?.[KEY_NAME] ?? null,
    status,
    amountCents: intent.amount_received ?? intent.amount,
    currency: intent.currency.toUpperCase(),
    failure: status === 'failed' ? (error?.decline_code ?? error?.code ?? intent.status) : null,
  };
}

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return null;
  }
}

/** With these statuses, Stripe has not carried out the request: the key is wrong, or there are too many requests. */
const NOT_CARRIED_OUT = [401, 403, 429];

/** 409: another request with the same key is in progress. */
function errorOutcome(statusCode: number, body: unknown): PaymentOutcome {
  const error = errorSchema.safeParse(body).data?.error;
  const failure = error?.decline_code ?? error?.code ?? error?.type ?? `http_${statusCode}`;
  if (NOT_CARRIED_OUT.includes(statusCode)) return { kind: 'not_sent', failure };
  if (statusCode === 409 || statusCode >= 500 || statusCode < 400) return { kind: 'unknown', failure };
  if (error?.payment_intent) {
    const payment = paymentOf(error.payment_intent);
    return { kind: 'payment', payment: payment.status === 'failed' ? { ...payment, failure } : payment };
  }
  return { kind: 'refused', failure };
}

function outcomeOf(result: EgressResult): PaymentOutcome {
  if (!result.ok) return { kind: result.sent ? 'unknown' : 'not_sent', failure: result.reason };
  const body = jsonOf(result.body);
  if (result.statusCode !== 200) return errorOutcome(result.statusCode, body);
  const intent = intentSchema.safeParse(body);
  return intent.success
    ? { kind: 'payment', payment: paymentOf(intent.data) }
    : { kind: 'unknown', failure: 'unreadable_response' };
}

function formOf({ key, amountCents, currency, customer, paymentMethod }: PaymentRequest): URLSearchParams {
  return new URLSearchParams({
    amount: String(amountCents),
    currency: currency.toLowerCase(),
    customer,
    payment_method: paymentMethod,
    off_session: 'true',
    confirm: 'true',
    error_on_requires_action: 'true',
    'automatic_payment_methods[enabled]': 'true',
    'automatic_payment_methods[allow_redirects]': 'never',
    [`metadata[${KEY_NAME}]`]: key,
  });
}

export interface StripeOptions {
  egress: Egress;
  /** `https://api.stripe.com`. */
  baseUrl: string;
  secretKey: string;
}

export function createStripe({ egress, baseUrl, secretKey }: StripeOptions): PaymentService {
  const headers = { authorization: `Bearer ${secretKey}`, 'stripe-version': API_VERSION };

  async function get(path: string): Promise<{ statusCode: number; body: unknown }> {
    const result = await egress.request({
      url: `${baseUrl}${path}`,
      method: 'GET',
      headers,
      timeoutMs: TIMEOUT_MS,
      maxResponseBytes: MAX_RESPONSE_BYTES,
    });
    if (!result.ok) throw new Error(`the payment service does not respond: ${result.reason}`);
    if (result.statusCode !== 200 && result.statusCode !== 404) {
      throw new Error(`the payment service responded with status ${result.statusCode}`);
    }
    return { statusCode: result.statusCode, body: jsonOf(result.body) };
  }

  return {
    async pay(request) {
      const result = await egress.request({
        url: `${baseUrl}/v1/payment_intents`,
        method: 'POST',
        headers: {
          ...headers,
          'idempotency-key': request.key,
          'content-type': 'application/x-www-form-urlencoded',
        },
        body: formOf(request).toString(),
        timeoutMs: TIMEOUT_MS,
        maxResponseBytes: MAX_RESPONSE_BYTES,
      });
      return outcomeOf(result);
    },

    async find({ key, customer }, since) {
      const created = Math.floor(since.getTime() / 1000) - CLOCK_SECONDS;
      let after = '';
      for (let page = 0; page < MAX_PAGES; page += 1) {
        const query = new URLSearchParams({ customer, limit: String(PAGE), 'created[gte]': String(created) });
        if (after !== '') query.set('starting_after', after);
        const { statusCode, body } = await get(`/v1/payment_intents?${query.toString()}`);
        if (statusCode === 404) return null;
        const { data, has_more: hasMore } = listSchema.parse(body);
        const found = data.find(({ metadata }) => metadata?.[KEY_NAME] === key);
        if (found) return paymentOf(found);
        after = data.at(-1)?.id ?? '';
        if (!hasMore || after === '') return null;
      }
      throw new Error('the customer has too many payments to search');
    },

    async retrieve(paymentId) {
      const { statusCode, body } = await get(`/v1/payment_intents/${encodeURIComponent(paymentId)}`);
      return statusCode === 404 ? null : paymentOf(intentSchema.parse(body));
    },
  };
}

/** Whether one of the signatures is valid: the HMAC of the time, a full stop and the body. */
function isSigned(header: string, body: Buffer, secrets: readonly string[], now: Date): boolean {
  const parts = header.split(',', MAX_SIGNATURES + 1).map((part) => part.trim());
  const time = parts.find((part) => part.startsWith('t='))?.slice(2) ?? '';
  if (!/^\d{1,12}$/.test(time)) return false;
  if (Math.abs(now.getTime() / 1000 - Number(time)) > TOLERANCE_SECONDS) return false;
  const content = Buffer.concat([Buffer.from(`${time}.`), body]);
  const given = parts
    .filter((part) => /^v1=[0-9a-f]{64}$/.test(part))
    .map((part) => Buffer.from(part.slice(3)));
  return secrets.some((secret) => {
    const right = Buffer.from(macInHex(Buffer.from(secret), content));
    return given.some((each) => timingSafeEqual(each, right));
  });
}

function reportOf(body: Buffer): PaymentReport {
  const { type, data } = eventSchema.parse(JSON.parse(body.toString('utf8')));
  switch (type) {
    case 'payment_intent.succeeded':
    case 'payment_intent.payment_failed':
    case 'payment_intent.canceled':
      return { kind: 'payment', payment: paymentOf(intentSchema.parse(data.object)) };
    case 'charge.dispute.created':
    case 'charge.dispute.funds_withdrawn':
    case 'charge.dispute.funds_reinstated': {
      const dispute = disputeSchema.parse(data.object);
      // An inquiry (`warning_…`) does not take anything back yet.
      if (!dispute.payment_intent || dispute.status?.startsWith('warning')) return { kind: 'other' };
      return {
        kind: type === 'charge.dispute.funds_reinstated' ? 'dispute_won' : 'disputed',
        disputeId: dispute.id,
        paymentId: dispute.payment_intent,
        amountCents: dispute.amount,
        currency: dispute.currency.toUpperCase(),
      };
    }
    default:
      return { kind: 'other' };
  }
}

/** @param secrets the signing secrets of the endpoint, each `whsec_…`; two during a rotation */
export function createStripeNotifications(secrets: readonly string[]): PaymentNotifications {
  return {
    read(headers, body, now) {
      const header = headers['stripe-signature'];
      if (typeof header !== 'string' || !isSigned(header, body, secrets, now)) return null;
      return reportOf(body);
    },
  };
}
