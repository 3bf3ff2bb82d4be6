// A top-up is paid and credited at most once, and repeated failures or disputes turn automatic top-ups off.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { listOperatorChanges, setAccount } from '../../../src/features/accounts/service.ts';
import { createTopUpRun, setTopUps, type TopUpRun } from '../../../src/features/wallet/index.ts';
import { failTopUp, takeDispute, takePayment } from '../../../src/features/wallet/settle.ts';
import { startDueTopUps } from '../../../src/features/wallet/top-ups.ts';
import { inTransaction, type Queryable } from '../../../src/platform/db/queryable.ts';
import { createTestTenant, startTestApi, type TestApi, type TestTenant } from '../../support/api.ts';
import {
  type FakeIntent,
  type FakeStripe,
  signNotification,
  startFakeStripe,
  STRIPE_KEY,
  WEBHOOK_SECRET,
} from '../../support/fake-stripe.ts';
import { runBehindLock } from '../../support/lock-order.ts';
import { ownerMails, walletOf } from './money.ts';

const HOUR_MS = 3_600_000;

let stripe: FakeStripe;
let api: TestApi;
let run: TopUpRun;
let tenant: TestTenant;
let tenants = 0;

beforeAll(async () => {
  stripe = await startFakeStripe({ plain: true });
  api = await startTestApi({
    env: {
      CURRENCY: 'EUR',
      EGRESS_ALLOW: '127.0.0.0/8',
      STRIPE_API_URL: stripe.baseUrl,
      STRIPE_SECRET_KEY: STRIPE_KEY,
      STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
      TRUSTED_PROXIES: '127.0.0.1',
    },
  });
  run = createTopUpRun({
    pool: api.database.pool,
    payments: stripe.service,
    from: 'Carillon <system@mail.test>',
    log: pino({ level: 'silent' }),
  });
});
afterAll(async () => {
  await api.close();
  await stripe.close();
});
beforeEach(async () => {
  stripe.answer = 'succeeded';
  stripe.beforeResponse = () => undefined;
  await query('update accounts set auto_topup = false');
  tenants += 1;
  tenant = await createTestTenant(api.database, `Payer ${tenants}`);
  await inTransaction(api.database.pool, (trx) => setTopUps(trx, tenant.accountId, settings(), 'ann'));
});

const settings = () => ({
  enabled: true,
  amountCents: 2_500,
  belowCents: 500,
  customer: `cus_${tenants}`,
  paymentMethod: 'pm_1',
});

const query = <Row extends object>(text: string, values: unknown[] = []) =>
  api.database.pool.query<Row>(text, values).then(({ rows }) => rows);

interface Row {
  id: number;
  key: string;
  status: string;
  failure: string | null;
  payment_id: string | null;
}
const topUps = () =>
  query<Row>('select id, key, status, failure, payment_id from topups where account_id = $1 order by id', [
    tenant.accountId,
  ]);

/**
 * Starts the due top-up.
 * @returns its id
 */
async function start(): Promise<number> {
  await startDueTopUps(api.database.pool, 'EUR');
  const last = (await topUps()).at(-1);
  if (last?.status !== 'pending') throw new Error('no top-up was started');
  return last.id;
}

const later = (hours: number) => new Date(Date.now() + hours * HOUR_MS);
const wallet = () => walletOf(api.database.pool, tenant.accountId);
/** After a failure, the next top-up waits an hour. */
const passAnHour = () => query(`update topups set finished_at = finished_at - interval '61 minutes'`);
const isOn = async () =>
  (await query<{ on: boolean }>('select auto_topup as on from accounts where id = $1', [tenant.accountId]))[0]
    ?.on;

const notify = (type: string, object: unknown, options = {}) => {
  const { headers, body } = signNotification({ type, object }, options);
  return api.request('POST', '/payments/stripe', {
    token: null,
    rawBody: body,
    headers: { ...headers, 'content-type': 'application/json', 'x-forwarded-for': `192.0.2.${tenants}` },
  });
};

/** A payment that the service made for the top-up without Carillon's knowledge. */
async function paymentFor(id: number, changes: Partial<FakeIntent> = {}): Promise<FakeIntent> {
  const [row] = await query<Row>('select key from topups where id = $1', [id]);
  const intent = {
    id: `pi_notified_${id}`,
    status: 'succeeded',
    amount: 2_500,
    amount_received: 2_500,
    currency: 'eur',
    customer: `cus_${tenants}`,
    metadata: { carillon_topup: row?.key ?? '' },
    ...changes,
  };
  stripe.intents.unshift(intent);
  return intent;
}

describe('a wallet with automatic top-ups', () => {
  it('has one pending top-up, however many workers check, and none above its limit', async () => {
    const started = await Promise.all(
      Array.from({ length: 4 }, () => startDueTopUps(api.database.pool, 'EUR')),
    );
    expect(started.reduce((sum, each) => sum + each)).toBe(1);
    await startDueTopUps(api.database.pool, 'EUR');
    const [topUp] = await topUps();
    expect(await topUps()).toHaveLength(1);
    await run.request(topUp?.id ?? 0, new Date());
    expect((await wallet()).sum).toBe(2_500_000);
    expect(await startDueTopUps(api.database.pool, 'EUR')).toBe(0);
  });

  it('never belongs to a comped account', async () => {
    await setAccount(api.database.pool, tenant.accountId, { comped: true });
    expect(await startDueTopUps(api.database.pool, 'EUR')).toBe(0);
  });

  it('needs all its settings', async () => {
    const set = (enabled: boolean) =>
      inTransaction(api.database.pool, (trx) => setTopUps(trx, api.accountId, { enabled }, 'ann'));
    await expect(set(true)).rejects.toMatchObject({ code: 'validation_error' });
    await set(false);
    expect((await listOperatorChanges(api.database.pool, tenant.accountId, 1))[0]).toMatchObject({
      action: 'account set',
      changes: { auto_topup: { from: false, to: true }, topup_amount_cents: { from: null, to: 2_500 } },
    });
  });

  it('is topped up at most ten times in 24 hours', async () => {
    for (let n = 0; n < 10; n += 1) {
      await run.request(await start(), new Date());
      await query(
        `insert into wallet_entries (account_id, kind, millicents, cause) values ($1, 'debit', -2500000, $2)`,
        [tenant.accountId, `spent ${n}`],
      );
    }
    expect(await startDueTopUps(api.database.pool, 'EUR')).toBe(0);
  });
});

describe('a top-up', () => {
  it('is credited once, however often its payment is reported', async () => {
    const id = await start();
    stripe.beforeResponse = async () => {
      await notify('payment_intent.succeeded', stripe.intents[0]);
    };
    expect(await run.request(id, new Date())).toMatchObject({ state: 'final' });
    const reports = await Promise.all(
      Array.from({ length: 5 }, () => notify('payment_intent.succeeded', stripe.intents[0])),
    );
    expect(reports.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(await run.request(id, new Date())).toMatchObject({ state: 'final' });
    const cause = `payment/${stripe.intents[0]?.id}`;
    expect((await wallet()).entries).toEqual([{ kind: 'top_up', millicents: 2_500_000, cause }]);
  });

  it('is never sent again if its outcome is unknown, and is looked up after 24 hours', async () => {
    const id = await start();
    stripe.paid.length = 0;
    stripe.answer = 'break';
    const asked = new Date();
    const step = await run.request(id, asked);
    const lookAt = new Date(asked.getTime() + 24 * HOUR_MS).toISOString();
    expect(step).toEqual({ state: 'unknown', lookAt });
    expect(await run.request(id, later(1))).toEqual({ state: 'unknown', lookAt });
    expect(await run.look(id, later(23), false)).toEqual({ state: 'unknown', lookAt });
    expect((await wallet()).sum).toBe(0);
    expect(await run.look(id, later(24), false)).toMatchObject({ state: 'final' });
    expect((await wallet()).sum).toBe(2_500_000);
    expect(stripe.paid).toHaveLength(1);
  });

  it('fails without blame for the payer if its payment does not exist after 24 hours', async () => {
    const id = await start();
    stripe.answer = 'unavailable';
    await run.request(id, new Date());
    expect(await run.look(id, later(1), true)).toMatchObject({ state: 'unknown' });
    expect(await run.look(id, later(24), false)).toMatchObject({ state: 'final' });
    expect(await topUps()).toMatchObject([{ status: 'failed', failure: 'no_payment' }]);
    expect(
      await query('select failures from topup_settings where account_id = $1', [tenant.accountId]),
    ).toEqual([{ failures: 0 }]);
  });

  it('is sent again if the service has not processed the request', async () => {
    const id = await start();
    stripe.answer = 'throttled';
    expect(await run.request(id, new Date())).toMatchObject({ state: 'not_sent' });
    stripe.answer = 'succeeded';
    expect(await run.request(id, new Date())).toMatchObject({ state: 'final' });
    expect((await wallet()).sum).toBe(2_500_000);
  });

  it('waits for a payment that the service has not decided', async () => {
    const id = await start();
    stripe.answer = 'processing';
    expect(await run.request(id, new Date())).toMatchObject({ state: 'paying' });
    expect(await run.look(id, later(24), false)).toMatchObject({ state: 'paying' });
    Object.assign(stripe.intents[0] ?? {}, { status: 'succeeded', amount_received: 2_500 });
    expect(await run.look(id, later(48), false)).toMatchObject({ state: 'final' });
    expect((await wallet()).sum).toBe(2_500_000);
  });

  it.each([
    ['in another currency', { currency: 'usd' }],
    ['of another amount', { amount_received: 250_000 }],
  ])('is not credited for a payment %s', async (_name, changes) => {
    const id = await start();
    expect((await notify('payment_intent.succeeded', await paymentFor(id, changes))).status).toBe(200);
    expect((await wallet()).entries).toEqual([]);
    expect(await topUps()).toMatchObject([{ status: 'failed', failure: 'amount_differs' }]);
  });

  it('is credited if its payment succeeds after it was given up', async () => {
    const id = await start();
    await run.giveUp(id);
    await notify('payment_intent.succeeded', await paymentFor(id));
    expect((await wallet()).sum).toBe(2_500_000);
    expect(await topUps()).toMatchObject([{ status: 'succeeded' }]);
  });

  it('turns top-ups off after three failures in a row, and the owners get one mail', async () => {
    stripe.answer = 'declined';
    for (let n = 0; n < 2; n += 1) {
      await run.request(await start(), new Date());
      expect(await startDueTopUps(api.database.pool, 'EUR')).toBe(0);
      await passAnHour();
    }
    expect(await isOn()).toBe(true);
    await run.request(await start(), new Date());
    expect(await isOn()).toBe(false);
    await passAnHour();
    expect(await startDueTopUps(api.database.pool, 'EUR')).toBe(0);
    expect(await topUps()).toMatchObject(
      Array.from({ length: 3 }, () => ({ status: 'failed', failure: 'insufficient_funds' })),
    );
    expect(await ownerMails(api.database.pool, tenant.email)).toEqual([
      'Automatic top-ups of your account are off',
    ]);
    expect((await listOperatorChanges(api.database.pool, tenant.accountId, 1))[0]).toMatchObject({
      actor: 'carillon',
      changes: { auto_topup: { from: true, to: false } },
    });
  });

  it('resets the earlier failures when it succeeds', async () => {
    for (const answer of ['declined', 'declined', 'succeeded'] as const) {
      stripe.answer = answer;
      await run.request(await start(), new Date());
      await passAnHour();
    }
    stripe.answer = 'declined';
    await query(
      `insert into wallet_entries (account_id, kind, millicents, cause) values ($1, 'debit', -2500000, 'x')`,
      [tenant.accountId],
    );
    await run.request(await start(), new Date());
    expect(await isOn()).toBe(true);
  });
});

describe('changing the settings of top-ups', () => {
  const FROM = 'Carillon <system@mail.test>';

  /** Runs each on a separate connection; all of them wait for the settings in the middle. */
  const together = (works: ((trx: Queryable) => Promise<unknown>)[]) =>
    runBehindLock(
      api.database.pool,
      { lock: 'select 1 from topup_settings where account_id = $1 for update', values: [tenant.accountId] },
      works.map((work) => () => inTransaction(api.database.pool, work)),
    );

  const change = (trx: Queryable) => setTopUps(trx, tenant.accountId, { amountCents: 3_000 }, 'ann');

  it('does not deadlock with a third failure', async () => {
    const id = await start();
    await query('update topup_settings set failures = 2 where account_id = $1', [tenant.accountId]);
    await together([(trx) => failTopUp(trx, id, { failure: 'card_declined', counted: true }, FROM), change]);
    expect(await isOn()).toBe(false);
  });

  const succeeded = async (id: number) => {
    const [row] = await query<Row>('select key from topups where id = $1', [id]);
    const payment = {
      id: `pi_locks_${id}`,
      key: row?.key ?? null,
      status: 'succeeded' as const,
      failure: null,
    };
    return { ...payment, amountCents: 2_500, currency: 'EUR' };
  };

  it('does not deadlock with a payment', async () => {
    const payment = await succeeded(await start());
    await together([(trx) => takePayment(trx, payment, FROM), change]);
    expect((await wallet()).sum).toBe(2_500_000);
  });

  it('does not deadlock with a payment and a dispute of an earlier one', async () => {
    const earlier = await succeeded(await start());
    await inTransaction(api.database.pool, (trx) => takePayment(trx, earlier, FROM));
    await query(
      `insert into wallet_entries (account_id, kind, millicents, cause) values ($1, 'debit', -2500000, 'spent')`,
      [tenant.accountId],
    );
    const payment = await succeeded(await start());
    const dispute = { kind: 'disputed' as const, disputeId: 'dp_locks', paymentId: earlier.id };
    await together([
      (trx) => takePayment(trx, payment, FROM),
      change,
      (trx) => takeDispute(trx, { ...dispute, amountCents: 2_500, currency: 'EUR' }, FROM),
    ]);
    expect((await wallet()).sum).toBe(-2_500_000 + 2_500_000);
    expect(await isOn()).toBe(false);
  });
});

describe('a notification of the payment service', () => {
  it('is a 403 with a wrong or old signature, and changes nothing', async () => {
    const intent = await paymentFor(await start());
    expect((await notify('payment_intent.succeeded', intent, { secret: 'whsec_wrong' })).status).toBe(403);
    expect((await notify('payment_intent.succeeded', intent, { at: 1_600_000_000 })).status).toBe(403);
    expect((await wallet()).entries).toEqual([]);
  });

  it('is a 404 for a service that is not configured, and a 413 if it is too long', async () => {
    const post = (path: string, rawBody: string) =>
      api.request('POST', path, { token: null, rawBody, headers: { 'content-type': 'application/json' } });
    expect((await post('/payments/other', '{}')).status).toBe(404);
    expect((await post('/payments/constructor', '{}')).status).toBe(404);
    expect((await post('/payments/stripe', 'x'.repeat(300_000))).status).toBe(413);
  });

  it('is ignored if Carillon did not ask for the payment', async () => {
    const intent = await paymentFor(await start(), { metadata: {} });
    expect((await notify('payment_intent.succeeded', intent)).status).toBe(200);
    const foreign = await paymentFor(0, { metadata: { carillon_topup: 'not a key' } });
    expect((await notify('payment_intent.succeeded', foreign)).status).toBe(200);
    expect((await notify('customer.created', {})).status).toBe(200);
    expect((await wallet()).entries).toEqual([]);
  });

  it('debits a dispute once and turns top-ups off; credits a won dispute once', async () => {
    const id = await start();
    await run.request(id, new Date());
    const [topUp] = await topUps();
    const dispute = { id: `dp_${id}`, amount: 2_500, currency: 'eur', payment_intent: topUp?.payment_id };
    await notify('charge.dispute.created', { ...dispute, status: 'warning_needs_response' });
    expect((await wallet()).sum).toBe(2_500_000);
    for (const type of ['created', 'funds_withdrawn', 'funds_withdrawn']) {
      await notify(`charge.dispute.${type}`, { ...dispute, status: 'needs_response' });
    }
    expect((await wallet()).sum).toBe(0);
    expect(await isOn()).toBe(false);
    for (let n = 0; n < 2; n += 1) await notify('charge.dispute.funds_reinstated', dispute);
    expect((await wallet()).entries).toMatchObject([
      { kind: 'top_up' },
      { kind: 'dispute', millicents: -2_500_000 },
      { kind: 'refund', millicents: 2_500_000 },
    ]);
  });

  it('never adds to the wallet for a dispute, in whatever order and however often it arrives', async () => {
    const orders = [
      ['funds_reinstated', 'funds_withdrawn'],
      ['funds_reinstated', 'funds_reinstated', 'created', 'funds_withdrawn', 'funds_reinstated'],
      ['funds_withdrawn', 'funds_reinstated', 'funds_withdrawn', 'funds_reinstated'],
    ];
    const id = await start();
    await run.request(id, new Date());
    const [topUp] = await topUps();
    for (const [n, types] of orders.entries()) {
      await query('update accounts set auto_topup = true where id = $1', [tenant.accountId]);
      const dispute = {
        id: `dp_${id}_${n}`,
        amount: 1_000,
        currency: 'eur',
        payment_intent: topUp?.payment_id,
      };
      for (const type of types) {
        await notify(`charge.dispute.${type}`, dispute);
        expect((await wallet()).sum).toBeLessThanOrEqual(2_500_000);
      }
      expect((await wallet()).sum).toBe(2_500_000);
      expect(await isOn()).toBe(false);
    }
    const { entries } = await wallet();
    expect(entries.map(({ kind }) => kind)).toEqual([
      'top_up',
      ...orders.flatMap(() => ['dispute', 'refund']),
    ]);
  });

  it('credits at most what was debited for a dispute that was won', async () => {
    const id = await start();
    await run.request(id, new Date());
    const [topUp] = await topUps();
    const dispute = { id: `dp_${id}`, currency: 'eur', payment_intent: topUp?.payment_id };
    await notify('charge.dispute.funds_withdrawn', { ...dispute, amount: 1_000 });
    await notify('charge.dispute.funds_reinstated', { ...dispute, amount: 2_500 });
    expect((await wallet()).sum).toBe(2_500_000);
  });

  it('books a dispute and its win once each if both arrive together', async () => {
    const id = await start();
    await run.request(id, new Date());
    const [topUp] = await topUps();
    const dispute = { id: `dp_${id}`, amount: 1_000, currency: 'eur', payment_intent: topUp?.payment_id };
    const types = ['funds_reinstated', 'funds_withdrawn', 'funds_reinstated', 'created'];
    const answers = await Promise.all(types.map((type) => notify(`charge.dispute.${type}`, dispute)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect((await wallet()).sum).toBe(2_500_000);
  });

  it('credits the payment of a dispute first if its report never arrived', async () => {
    const id = await start();
    const intent = await paymentFor(id);
    const dispute = { id: `dp_${id}`, amount: 2_500, currency: 'eur', payment_intent: intent.id };
    await notify('charge.dispute.funds_withdrawn', dispute);
    expect((await wallet()).entries).toMatchObject([{ kind: 'top_up' }, { kind: 'dispute' }]);
  });
});
