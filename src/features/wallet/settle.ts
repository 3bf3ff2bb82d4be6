/**
 * Settles payments. The activities of a top-up and the notifications of the payment service both end here, in any order
 * and possibly several times, so the top-up's row is locked and a payment is credited only once.
 */
import { addWalletEntry, MILLICENTS_PER_CENT } from '../../delivery/ledger/money/wallet.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { logOperatorChange } from '../accounts/service.ts';
import { mailOwners } from '../system-mail/service.ts';
import { fillWallet } from './bookings.ts';
import { topUpsOffNotice } from './letters.ts';
import { failPending, lockTopUp, storePayment, succeed, type TopUpRow } from './model.ts';
import type { Payment, PaymentReport } from './payments/port.ts';

/** After this many failed top-ups in a row, automatic top-ups are turned off. */
export const MAX_FAILURES = 3;
/** The actor of changed settings in the account's log. */
const SERVICE = 'carillon';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Locks the top-up that a payment is for; undefined if Carillon did not ask for the payment. */
async function lockTopUpOf(
  trx: Queryable,
  { id, key }: Pick<Payment, 'id' | 'key'>,
): Promise<TopUpRow | undefined> {
  const known = await lockTopUp(trx, { payment_id: id });
  if (known || key === null || !UUID.test(key)) return known;
  return lockTopUp(trx, { key });
}

/** Locks the account like changes of its settings do: before the settings of its top-ups, and before its wallet. */
async function lockAccount(trx: Queryable, accountId: number): Promise<void> {
  await trx.query('select from accounts where id = $1 for no key update', [accountId]);
}

/** Why a top-up failed. */
export interface TopUpFailure {
  /** A code of the payment service or of Carillon. */
  failure: string;
  /**
   * Whether it counts as one of the failures in a row that turn top-ups off: the payer's bank or the service refused
   * it.
   */
  counted: boolean;
}

/**
 * Ends a pending top-up without a payment. A top-up that has ended stays as it is.
 * @param from the sender of mails to the owners
 */
export async function failTopUp(
  trx: Queryable,
  topUpId: number,
  { failure, counted }: TopUpFailure,
  from: string,
): Promise<void> {
  const accountId = await failPending(trx, topUpId, failure);
  if (accountId === undefined || !counted) return;
  await lockAccount(trx, accountId);
  const { rows: settings } = await trx.query<{ failures: number }>(
    'update topup_settings set failures = failures + 1 where account_id = $1 returning failures',
    [accountId],
  );
  if ((settings[0]?.failures ?? 0) >= MAX_FAILURES) await turnOff(trx, accountId, failure, from);
}

async function turnOff(trx: Queryable, accountId: number, reason: string, from: string): Promise<void> {
  const { rowCount } = await trx.query(
    'update accounts set auto_topup = false, updated_at = now() where id = $1 and auto_topup',
    [accountId],
  );
  if (rowCount === 0) return;
  const changes = { auto_topup: { from: true, to: false }, reason };
  await logOperatorChange(trx, { accountId, actor: SERVICE, action: 'top-ups off', changes });
  await mailOwners(trx, accountId, from, topUpsOffNotice(reason));
}

/**
 * The effect of a payment report. `differs`: the payment is not what the top-up asked for, so an operator must look at
 * it.
 */
export type Taken = 'credited' | 'failed' | 'pending' | 'unchanged' | 'foreign' | 'differs';

export interface TakenPayment {
  taken: Taken;
  topUp: TopUpRow | null;
}

async function credit(trx: Queryable, topUp: TopUpRow, payment: Payment): Promise<void> {
  await succeed(trx, topUp.id, payment.id);
  await trx.query('update topup_settings set failures = 0 where account_id = $1', [topUp.account_id]);
  await fillWallet(trx, {
    accountId: topUp.account_id,
    kind: 'top_up',
    millicents: topUp.amount_cents * MILLICENTS_PER_CENT,
    cause: `payment/${payment.id}`,
    reference: payment.id,
  });
}

async function takeSucceeded(
  trx: Queryable,
  topUp: TopUpRow,
  payment: Payment,
  from: string,
): Promise<Taken> {
  // Credit any succeeded payment that was not credited yet, whatever the row says: it may succeed after the top-up was
  // given up.
  if (topUp.status === 'succeeded') return topUp.payment_id === payment.id ? 'unchanged' : 'differs';
  if (payment.amountCents !== topUp.amount_cents || payment.currency !== topUp.currency) {
    await failTopUp(trx, topUp.id, { failure: 'amount_differs', counted: true }, from);
    return 'differs';
  }
  await credit(trx, topUp, payment);
  return 'credited';
}

/**
 * Records the state of a payment. If it succeeded, it is credited once, provided that its amount and currency match its
 * top-up.
 * @param trx the caller's transaction
 * @param from the sender of mails to the owners
 */
export async function takePayment(trx: Queryable, payment: Payment, from: string): Promise<TakenPayment> {
  const topUp = await lockTopUpOf(trx, payment);
  if (!topUp) return { taken: 'foreign', topUp: null };
  if (payment.status === 'succeeded') {
    return { taken: await takeSucceeded(trx, topUp, payment, from), topUp };
  }
  if (topUp.status !== 'pending') return { taken: 'unchanged', topUp };
  await storePayment(trx, topUp.id, payment.id);
  if (payment.status === 'pending') return { taken: 'pending', topUp };
  await failTopUp(trx, topUp.id, { failure: payment.failure ?? 'failed', counted: true }, from);
  return { taken: 'failed', topUp };
}

type Dispute = Extract<PaymentReport, { disputeId: string }>;

/** The cause of the entry that debits a dispute. The dispute's id makes it unique. */
const debitCause = ({ disputeId }: Dispute) => `dispute/${disputeId}`;

/** @returns how much the dispute has debited, in millicents; null if nothing yet */
async function debitedBy(trx: Queryable, accountId: number, dispute: Dispute): Promise<number | null> {
  const { rows } = await trx.query<{ debited: number }>(
    'select -millicents as debited from wallet_entries where account_id = $1 and cause = $2',
    [accountId, debitCause(dispute)],
  );
  return rows[0]?.debited ?? null;
}

/** @returns the same as `addWalletEntry` */
async function debit(
  trx: Queryable,
  accountId: number,
  dispute: Dispute,
  from: string,
): Promise<number | null> {
  await lockAccount(trx, accountId);
  const entry = await addWalletEntry(trx, {
    accountId,
    kind: 'dispute',
    millicents: -dispute.amountCents * MILLICENTS_PER_CENT,
    cause: debitCause(dispute),
    reference: dispute.disputeId,
  });
  if (entry !== null) await turnOff(trx, accountId, 'disputed', from);
  return entry;
}

/** @returns the same as `addWalletEntry` */
async function creditBack(
  trx: Queryable,
  accountId: number,
  dispute: Dispute,
  from: string,
): Promise<number | null> {
  const debited = await debitedBy(trx, accountId, dispute);
  const won = dispute.amountCents * MILLICENTS_PER_CENT;
  const entry = {
    accountId,
    kind: 'refund' as const,
    millicents: Math.min(won, debited ?? won),
    cause: `dispute-won/${dispute.disputeId}`,
    reference: dispute.disputeId,
  };
  if (debited !== null) return fillWallet(trx, entry);
  // The notification of the debit is late or lost. Both are booked now. Nothing is released, because the balance stays
  // the same.
  await debit(trx, accountId, dispute, from);
  return addWalletEntry(trx, entry);
}

/**
 * Debits what a bank took back, or credits it when the dispute was won, each once per dispute id. In whatever order the
 * reports arrive, a dispute never adds to the balance: a win without its debit books both. A dispute turns automatic
 * top-ups off.
 * @param trx the caller's transaction
 * @param from the sender of mails to the owners
 */
export async function takeDispute(trx: Queryable, dispute: Dispute, from: string): Promise<TakenPayment> {
  const topUp = await lockTopUp(trx, { payment_id: dispute.paymentId });
  if (!topUp) return { taken: 'foreign', topUp: null };
  if (dispute.currency !== topUp.currency) return { taken: 'differs', topUp };
  const take = dispute.kind === 'disputed' ? debit : creditBack;
  const entry = await take(trx, topUp.account_id, dispute, from);
  return { taken: entry === null ? 'unchanged' : 'credited', topUp };
}
