import type pg from 'pg';
import type { Logger } from 'pino';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import type { Waker } from '../../platform/db/wake.ts';
import { appendToOutbox } from '../../platform/outbox/append.ts';
import type { PaymentReport, PaymentService } from './payments/port.ts';
import { takeDispute, takePayment, type TakenPayment } from './settle.ts';
import { topUpWake } from './workflow.ts';

export interface NotificationDeps {
  pool: pg.Pool;
  payments: PaymentService | null;
  /** The sender of mails to the owners. */
  from: string;
  waker: Pick<Waker, 'wake'>;
  log: Logger;
}

/** Records what a payment service reports. */
export interface NotificationTaking {
  /**
   * Resolves when everything is committed. Recording a report twice changes nothing.
   * @param report from a notification with a valid signature
   */
  take(report: PaymentReport): Promise<void>;
}

export function createNotificationTaking(deps: NotificationDeps): NotificationTaking {
  const { pool, payments, from, waker, log } = deps;

  /** @param work records the report, and returns the top-up that it was about */
  async function commit(
    fields: Record<string, string>,
    work: (trx: Queryable) => Promise<TakenPayment>,
  ): Promise<TakenPayment> {
    const done = await inTransaction(pool, async (trx) => {
      const { taken, topUp } = await work(trx);
      if (topUp && topUp.status === 'pending') await appendToOutbox(trx, topUpWake(topUp.id));
      return { taken, topUp };
    });
    const { taken, topUp } = done;
    const all = { ...fields, topup_id: topUp?.id, account_id: topUp?.account_id, taken };
    if (taken === 'differs') log.error(all, 'payment differs from its top-up and was not credited');
    else log.info(all, 'payment notification recorded');
    if (topUp) waker.wake('outbox');
    if (taken === 'credited') waker.wake('send');
    return done;
  }

  const takePaid = (payment: Parameters<typeof takePayment>[1]) =>
    commit({ payment_id: payment.id }, (trx) => takePayment(trx, payment, from));

  return {
    async take(report) {
      if (report.kind === 'other') return;
      if (report.kind === 'payment') return void (await takePaid(report.payment));
      const fields = { payment_id: report.paymentId, dispute_id: report.disputeId, kind: report.kind };
      const { taken } = await commit(fields, (trx) => takeDispute(trx, report, from));
      if (taken !== 'foreign' || !payments) return;
      // A dispute names only a payment, whose notification may never have arrived.
      const payment = await payments.retrieve(report.paymentId);
      if (payment?.status !== 'succeeded' || (await takePaid(payment)).topUp === null) return;
      await commit(fields, (trx) => takeDispute(trx, report, from));
    },
  };
}
