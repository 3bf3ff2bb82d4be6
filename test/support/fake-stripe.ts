import { createHmac, randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { createResolver } from '../../src/platform/dns/resolver.ts';
import { createEgress } from '../../src/platform/egress/client.ts';
import { createStripe } from '../../src/features/wallet/payments/stripe.ts';
import type { PaymentService } from '../../src/features/wallet/payments/port.ts';
import { type ReceivedRequest, type Receiver, startReceiver, testCa } from './https-receiver.ts';

/** The fields of a PaymentIntent that Carillon reads. */
export interface FakeIntent {
  id: string;
  status: string;
  amount: number;
  amount_received: number;
  currency: string;
  customer: string;
  metadata: Record<string, string>;
}

/**
 * How the server handles a request to pay. `break`: the payment is made, and the connection breaks before the response.
 */
export type PayAnswer =
  'succeeded' | 'processing' | 'declined' | 'break' | 'unavailable' | 'throttled' | 'refused';

/** A server that stands in for Stripe's API. It remembers idempotency keys, like Stripe does. */
export interface FakeStripe {
  baseUrl: string;
  /** Requests to pay, by idempotency key, in order of arrival. */
  paid: { key: string; form: URLSearchParams; headers: ReceivedRequest['headers'] }[];
  intents: FakeIntent[];
  answer: PayAnswer;
  /** Called when a payment has been decided, before the response is sent. */
  beforeResponse: () => Promise<void> | void;
  service: PaymentService;
  close(): Promise<void>;
}

export const STRIPE_KEY = 'sk_test_of_the_tests';
export const WEBHOOK_SECRET = 'whsec_of_the_tests';

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

function intentOf(form: URLSearchParams, status: string): FakeIntent {
  const metadata = [...form].flatMap(([name, value]): [string, string][] => {
    const key = /^metadata\[(\w+)\]$/.exec(name)?.[1];
    return key === undefined ? [] : [[key, value]];
  });
  const amount = Number(form.get('amount'));
  return {
    id: `pi_${randomBytes(8).toString('hex')}`,
    status,
    amount,
    amount_received: status === 'succeeded' ? amount : 0,
    currency: form.get('currency') ?? '',
    customer: form.get('customer') ?? '',
    metadata: Object.fromEntries(metadata),
  };
}

class Server {
  readonly paid: FakeStripe['paid'] = [];
  intents: FakeIntent[] = [];
  answer: PayAnswer = 'succeeded';
  beforeResponse: FakeStripe['beforeResponse'] = () => undefined;
  readonly #byKey = new Map<string, FakeIntent>();

  async handle(request: ReceivedRequest, response: ServerResponse): Promise<void> {
    const url = new URL(request.url, 'https://stripe.test');
    if (request.headers.authorization !== `Bearer ${STRIPE_KEY}`) {
      return json(response, 401, { error: { type: 'invalid_request_error' } });
    }
    if (request.method === 'POST') return this.#pay(request, response);
    const id = /^\/v1\/payment_intents\/(.+)$/.exec(url.pathname)?.[1];
    if (id === undefined) return this.#list(url.searchParams, response);
    const found = this.intents.find((each) => each.id === id);
    return found
      ? json(response, 200, found)
      : json(response, 404, { error: { type: 'invalid_request_error' } });
  }

  async #pay(request: ReceivedRequest, response: ServerResponse): Promise<void> {
    const form = new URLSearchParams(request.body);
    const key = String(request.headers['idempotency-key']);
    this.paid.push({ key, form, headers: request.headers });
    if (this.answer === 'throttled') return json(response, 429, { error: { type: 'rate_limit' } });
    if (this.answer === 'unavailable') return json(response, 500, { error: { type: 'api_error' } });
    if (this.answer === 'refused') {
      return json(response, 400, { error: { type: 'invalid_request_error', code: 'resource_missing' } });
    }
    const status = { succeeded: 'succeeded', break: 'succeeded', processing: 'processing', declined: '' }[
      this.answer
    ];
    const intent = this.#byKey.get(key) ?? intentOf(form, status || 'requires_payment_method');
    if (!this.#byKey.has(key)) this.intents.unshift(intent);
    this.#byKey.set(key, intent);
    await this.beforeResponse();
    if (this.answer === 'break') return void response.destroy();
    if (this.answer !== 'declined') return json(response, 200, intent);
    const error = { type: 'card_error', code: 'card_declined', decline_code: 'insufficient_funds' };
    return json(response, 402, { error: { ...error, payment_intent: intent } });
  }

  #list(query: URLSearchParams, response: ServerResponse): void {
    const all = this.intents.filter(({ customer }) => customer === query.get('customer'));
    const after = query.get('starting_after');
    const from = after === null ? 0 : all.findIndex(({ id }) => id === after) + 1;
    const data = all.slice(from, from + Number(query.get('limit')));
    json(response, 200, { data, has_more: from + data.length < all.length });
  }
}

/** @param plain serves HTTP, for processes that trust only the system's certificates */
export async function startFakeStripe({ plain = false } = {}): Promise<FakeStripe> {
  const server = new Server();
  const receiver: Receiver = await startReceiver({
    plain,
    answer: (request, response) => server.handle(request, response),
  });
  const baseUrl = receiver.url('', '127.0.0.1');
  const egress = createEgress({
    resolver: createResolver([]),
    allow: ['127.0.0.0/8'],
    userAgent: 'Carillon-Test/1',
    ca: [testCa],
  });
  return Object.assign(server, {
    baseUrl,
    service: createStripe({ egress, baseUrl, secretKey: STRIPE_KEY }),
    async close() {
      await egress.close();
      await receiver.close();
    },
  });
}

/**
 * Signs a notification like Stripe does.
 * @param at in seconds
 */
export function signNotification(
  event: { type: string; object: unknown },
  { at = Math.floor(Date.now() / 1000), secret = WEBHOOK_SECRET } = {},
): { headers: Record<string, string>; body: string } {
  const body = JSON.stringify({ id: 'evt_1', type: event.type, data: { object: event.object } });
  const signature = createHmac('sha256', secret).update(`${at}.${body}`).digest('hex');
  return {
    headers: { 'stripe-signature': `t=${at},v1=${'0'.repeat(64)},v1=${signature}` },
    body,
  };
}
