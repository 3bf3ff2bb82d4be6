// The Stripe client reports whether a payment failed or is unknown, and accepts only fresh, signed notifications.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createStripe, createStripeNotifications } from '../../../src/features/wallet/payments/stripe.ts';
import type { PaymentRequest } from '../../../src/features/wallet/payments/port.ts';
import { createResolver } from '../../../src/platform/dns/resolver.ts';
import { createEgress } from '../../../src/platform/egress/client.ts';
import {
  type FakeStripe,
  signNotification,
  startFakeStripe,
  STRIPE_KEY,
  WEBHOOK_SECRET,
} from '../../support/fake-stripe.ts';

let stripe: FakeStripe;
let requests = 0;
beforeAll(async () => {
  stripe = await startFakeStripe();
});
afterAll(() => stripe.close());
beforeEach(() => {
  stripe.answer = 'succeeded';
  stripe.paid.length = 0;
});

function request(): PaymentRequest {
  requests += 1;
  return {
    key: `00000000-0000-4000-8000-${String(requests).padStart(12, '0')}`,
    amountCents: 2500,
    currency: 'EUR',
    customer: 'cus_1',
    paymentMethod: 'pm_1',
  };
}

describe('a request to Stripe', () => {
  it('confirms an off-session payment of a stored method, with the key of its row', async () => {
    const asked = request();
    expect(await stripe.service.pay(asked)).toEqual({
      kind: 'payment',
      payment: {
        id: expect.stringMatching(/^pi_/),
        key: asked.key,
        status: 'succeeded',
        amountCents: 2500,
        currency: 'EUR',
        failure: null,
      },
    });
    const [paid] = stripe.paid;
    expect(paid?.key).toBe(asked.key);
    expect(Object.fromEntries(paid?.form ?? [])).toMatchObject({
      amount: '2500',
      currency: 'eur',
      customer: 'cus_1',
      payment_method: 'pm_1',
      off_session: 'true',
      confirm: 'true',
      'metadata[carillon_topup]': asked.key,
    });
  });

  it.each([
    ['declined', { kind: 'payment', payment: { status: 'failed' } }],
    ['processing', { kind: 'payment', payment: { status: 'pending' } }],
    ['refused', { kind: 'refused', failure: 'resource_missing' }],
    ['throttled', { kind: 'not_sent' }],
    ['unavailable', { kind: 'unknown' }],
    ['break', { kind: 'unknown' }],
  ] as const)('has the outcome that matches the response: %s', async (answer, outcome) => {
    stripe.answer = answer;
    expect(await stripe.service.pay(request())).toMatchObject(outcome);
  });

  it('did not reach the service if nothing listens, or the key is wrong', async () => {
    const egress = createEgress({
      resolver: createResolver([]),
      allow: ['127.0.0.0/8'],
      userAgent: 'Test/1',
    });
    const nowhere = createStripe({ egress, baseUrl: 'https://127.0.0.1:1', secretKey: STRIPE_KEY });
    expect(await nowhere.pay(request())).toMatchObject({ kind: 'not_sent' });
    const plain = await startFakeStripe({ plain: true });
    const wrongKey = createStripe({ egress, baseUrl: plain.baseUrl, secretKey: 'sk_other' });
    expect(await wrongKey.pay(request())).toMatchObject({ kind: 'not_sent' });
    await egress.close();
    await plain.close();
  });

  it('is found by its metadata after a page of other payments', async () => {
    const asked = request();
    stripe.answer = 'break';
    await stripe.service.pay(asked);
    stripe.answer = 'succeeded';
    for (let n = 0; n < 101; n += 1) await stripe.service.pay(request());
    expect(await stripe.service.find(asked, new Date())).toMatchObject({
      key: asked.key,
      status: 'succeeded',
    });
    expect(await stripe.service.find(request(), new Date())).toBeNull();
  });
});

describe('a notification of Stripe', () => {
  const notifications = createStripeNotifications(['whsec_former', WEBHOOK_SECRET]);
  const intent = { id: 'pi_1', status: 'succeeded', amount: 100, amount_received: 100, currency: 'usd' };
  const event = { type: 'payment_intent.succeeded', object: intent };
  const now = new Date('2026-03-01T12:00:00Z');
  const at = now.getTime() / 1000;
  const read = (signed: ReturnType<typeof signNotification>) =>
    notifications.read(signed.headers, Buffer.from(signed.body), now);

  it('is read if one of its signatures is valid', () => {
    expect(read(signNotification(event, { at }))).toMatchObject({
      kind: 'payment',
      payment: { id: 'pi_1', key: null, status: 'succeeded', amountCents: 100, currency: 'USD' },
    });
  });

  it('is refused with a wrong signature, another body, or none', () => {
    const signed = signNotification(event, { at });
    expect(read(signNotification(event, { at, secret: 'whsec_other' }))).toBeNull();
    expect(read({ ...signed, body: signed.body.replace('100', '900') })).toBeNull();
    expect(read({ ...signed, headers: {} })).toBeNull();
    expect(read({ ...signed, headers: { 'stripe-signature': `t=${at}` } })).toBeNull();
  });

  it('is refused more than five minutes after or before its signature', () => {
    expect(read(signNotification(event, { at: at - 299 }))).not.toBeNull();
    expect(read(signNotification(event, { at: at - 301 }))).toBeNull();
    expect(read(signNotification(event, { at: at + 301 }))).toBeNull();
  });
});
