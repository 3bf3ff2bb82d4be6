import type pg from 'pg';
import type { Logger } from 'pino';
import { inTransaction } from '../../platform/db/queryable.ts';
import type { TopUpStep } from '../../../workflows/topups/contract.ts';
import type { Payment, PaymentOutcome, PaymentService } from './payments/port.ts';
import { expectTopUp, findTopUp, markSent, storeFailure, type TopUpRow } from './model.ts';
import { failTopUp, takePayment, type TopUpFailure } from './settle.ts';

const HOUR_MS = 3_600_000;
/** After this time, the service either has a payment for a request, or will never have one. */
const LOOK_UP_MS = 24 * HOUR_MS;
/** How often a payment that the service has not decided is checked, and for how long. */
const POLL_MS = 24 * HOUR_MS;
const MAX_PAYING_MS = 30 * 24 * HOUR_MS;
/** When the workflow must report again if it waits for nothing longer. */
const EXPECTED_MS = HOUR_MS;

export interface TopUpRunDeps {
  pool: pg.Pool;
  /** Null if no payment service is configured any more. */
  payments: PaymentService | null;
  /** The sender of mails to the owners. */
  from: string;
  log: Logger;
}

/** The steps of the workflow `topup/<id>`. */
export interface TopUpRun {
  request(topUpId: number, asOf: Date): Promise<TopUpStep>;
  look(topUpId: number, asOf: Date, force: boolean): Promise<TopUpStep>;
  giveUp(topUpId: number): Promise<TopUpStep>;
}

const final: TopUpStep = { state: 'final', lookAt: '' };

async function waitFor(
  pool: pg.Pool,
  topUpId: number,
  state: TopUpStep['state'],
  lookAt: Date,
): Promise<TopUpStep> {
  await expectTopUp(pool, topUpId, new Date(lookAt.getTime() + EXPECTED_MS));
  return { state, lookAt: lookAt.toISOString() };
}

/** Determines the top-up's step from its row. Records when the workflow must report next. */
async function stepOf(pool: pg.Pool, topUpId: number, asOf: Date): Promise<TopUpStep> {
  const row = await findTopUp(pool, topUpId);
  if (row?.status !== 'pending') return row ? { ...final, status: row.status } : final;
  if (row.asked_at === null) return waitFor(pool, topUpId, 'not_sent', asOf);
  if (row.payment_id !== null) return waitFor(pool, topUpId, 'paying', new Date(asOf.getTime() + POLL_MS));
  return waitFor(pool, topUpId, 'unknown', new Date(row.asked_at.getTime() + LOOK_UP_MS));
}

const fail = ({ pool, from }: TopUpRunDeps, topUpId: number, failure: TopUpFailure) =>
  inTransaction(pool, (trx) => failTopUp(trx, topUpId, failure, from));

async function take({ pool, from, log }: TopUpRunDeps, payment: Payment): Promise<void> {
  const { taken, topUp } = await inTransaction(pool, (trx) => takePayment(trx, payment, from));
  const fields = { topup_id: topUp?.id, account_id: topUp?.account_id, payment_id: payment.id };
  if (taken === 'differs') log.error(fields, 'payment differs from its top-up and was not credited');
  else log.info({ ...fields, taken }, 'payment taken');
}

async function takeOutcome(deps: TopUpRunDeps, topUp: TopUpRow, outcome: PaymentOutcome): Promise<void> {
  if (outcome.kind === 'payment') return take(deps, outcome.payment);
  const { id: topUpId, account_id } = topUp;
  const { kind, failure } = outcome;
  deps.log.warn({ topup_id: topUpId, account_id, kind, failure }, 'no payment');
  if (kind === 'refused') return fail(deps, topUpId, { failure, counted: true });
  // Kept for operators. A notification may have arrived first; the row is then final.
  await storeFailure(deps.pool, topUpId, { failure, unsent: kind === 'not_sent' });
}

/** Asks the service for the outcome of a payment. Ends a top-up that has waited for one too long. */
async function lookUp(deps: TopUpRunDeps, row: TopUpRow, askedAt: Date, asOf: Date): Promise<void> {
  const { payments } = deps;
  if (!payments) throw new Error('no payment service is configured, and a top-up has no outcome');
  const payment =
    row.payment_id === null ? await payments.find(row, askedAt) : await payments.retrieve(row.payment_id);
  if (payment) await take(deps, payment);
  if (payment !== null && payment.status !== 'pending') return;
  const waitMs = payment === null ? LOOK_UP_MS : MAX_PAYING_MS;
  if (asOf.getTime() - askedAt.getTime() < waitMs) return;
  await fail(deps, row.id, { failure: 'no_payment', counted: false });
}

export function createTopUpRun(deps: TopUpRunDeps): TopUpRun {
  const { pool, payments } = deps;
  return {
    async request(topUpId, asOf) {
      const row = payments && (await markSent(pool, topUpId, asOf));
      if (!row) return stepOf(pool, topUpId, asOf);
      const { key, amount_cents: amountCents, currency, customer, payment_method: paymentMethod } = row;
      const outcome = await payments.pay({ key, amountCents, currency, customer, paymentMethod });
      await takeOutcome(deps, row, outcome);
      return stepOf(pool, topUpId, asOf);
    },

    async look(topUpId, asOf, force) {
      const row = await findTopUp(pool, topUpId);
      if (row?.status === 'pending' && row.asked_at !== null) {
        const isDue = row.payment_id !== null || asOf.getTime() - row.asked_at.getTime() >= LOOK_UP_MS;
        if (isDue || force) await lookUp(deps, row, row.asked_at, asOf);
      }
      return stepOf(pool, topUpId, asOf);
    },

    async giveUp(topUpId) {
      await fail(deps, topUpId, { failure: 'unavailable', counted: false });
      return { ...final, status: 'failed' };
    },
  };
}
