/** Canceling messages that wait. */
import type pg from 'pg';
import {
  type CancelOutcome,
  cancelTransactional,
  markForRecall,
} from '../../delivery/ledger/cancel/cancel.ts';
import { AppError, notFound } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import { refuseTestKey } from '../../platform/auth/test-keys.ts';
import { NotPreparedError, type Queryable } from '../../platform/db/queryable.ts';
import { createLetterReader, type Reader, withoutHiddenLetter } from './letter-presenter.ts';
import { findMessage, type FoundMessage, isOfTestKey } from './model.ts';
import { type AcceptedMessage, presentMessage, shownStatus } from './presenter.ts';

const REASON = 'canceled by a request';

/** Whether a request recalls messages from senders that have claimed them. Its first try does not. */
export interface Recall {
  needed: boolean;
}

export interface ChangeDeps {
  pool: pg.Pool;
  /** The setting SUPPRESS_PLUS_ADDRESSES. */
  plusAddresses: boolean;
}

/** @throws AppError not_found, test_key */
export async function findChangeable(
  db: Queryable,
  tenant: Tenant,
  id: number,
  what: string,
): Promise<FoundMessage> {
  const row = await findMessage(db, tenant, id);
  if (!row) throw notFound('message');
  if (!isOfTestKey(row)) refuseTestKey(tenant, `${what} messages that are not of test keys`);
  return row;
}

/** A message after a change, with the other copies of its letter. */
export async function presentChanged(
  db: Queryable,
  { plusAddresses }: Pick<ChangeDeps, 'plusAddresses'>,
  tenant: Tenant,
  reader: Reader,
  id: number,
): Promise<AcceptedMessage | null> {
  const row = await findMessage(db, tenant, id);
  if (!row) return null;
  const fields = await createLetterReader(db, plusAddresses).fieldsOf(tenant, reader, row);
  return { ...presentMessage(withoutHiddenLetter(reader, row)), ...fields };
}

/**
 * The error of a change that a message does not allow: the one that was asked for, or another copy of its letter. An
 * assistant does not learn which one: it might be in Bcc.
 * @param reason by default its status
 */
export function refusedBy(
  { isAssistant }: Reader,
  { asked, refusing }: { asked: FoundMessage; refusing: FoundMessage | null },
  change: string,
  reason?: string,
): AppError {
  const row = refusing ?? asked;
  const other = isAssistant
    ? 'another copy of the same letter'
    : `message ${row.id}, a copy of the same letter,`;
  const why = reason ?? `is ${shownStatus(row)} and can no longer be ${change}`;
  return new AppError('invalid_transition', `${row.id === asked.id ? 'the message' : other} ${why}`);
}

/** What keeps messages from being canceled. Those that a retry cannot remove come before those that it can. */
const obstacles = ['sending', 'unknown', 'other_class', 'left', 'unchecked', 'claimed', 'ended'] as const;

/** For the others, the error names the status of the message. */
const reasons: Partial<Record<CancelOutcome, string>> = {
  sending: 'is being sent and can no longer be canceled',
  unknown: 'has an attempt without a known outcome and can no longer be canceled',
  other_class: 'belongs to a campaign or flow and is canceled with it',
};

/** @returns the message that keeps the others from being canceled; null: none does, and one is canceled */
function findObstacle(outcomes: ReadonlyMap<number, CancelOutcome>): [number, CancelOutcome] | null {
  const isCanceled = [...outcomes.values()].includes('canceled');
  for (const obstacle of obstacles) {
    const found = [...outcomes].find(([, outcome]) => outcome === obstacle);
    if (found && !(obstacle === 'ended' && isCanceled)) return found;
  }
  return null;
}

/**
 * Cancels a message, with all copies of its letter that wait. Run it again after a NotPreparedError, with the same
 * `recall`.
 * @param only whether to cancel this copy alone
 * @throws AppError not_found; test_key; invalid_transition; unavailable if a sender of an earlier version has claimed it
 */
export async function cancelMessage(
  trx: Queryable,
  { pool }: ChangeDeps,
  tenant: Tenant,
  reader: Reader,
  { id, only, recall }: { id: number; only: boolean; recall: Recall },
): Promise<void> {
  const asked = await findChangeable(trx, tenant, id, 'cancel');
  const ids = only ? [id] : (asked.message_ids ?? [id]);
  const wanted = { reason: REASON, recall: recall.needed };
  const obstacle = findObstacle(await cancelTransactional(trx, tenant.accountId, ids, wanted));
  if (!obstacle) return;
  const [stopping, outcome] = obstacle;
  switch (outcome) {
    case 'claimed':
      throw new NotPreparedError(async () => {
        await markForRecall(pool, tenant.accountId);
        recall.needed = true;
      });
    case 'unchecked':
      throw new AppError('unavailable', 'a sender of an earlier version has the message; try again', {
        headers: { 'Retry-After': '1' },
      });
    default:
      throw refusedBy(
        reader,
        { asked, refusing: await findMessage(trx, tenant, stopping) },
        'canceled',
        reasons[outcome],
      );
  }
}
