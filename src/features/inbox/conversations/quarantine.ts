/** Mail in quarantine: listed, released or deleted. */
import { AppError, notFound } from '../../../errors.ts';
import type { BrandScope } from '../../../platform/db/model.ts';
import type { Page, RowCount, SizedItem } from '../../../platform/db/paging.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { appendToOutbox } from '../../../platform/outbox/append.ts';
import { type ArrivalDeps, arriveLocked } from '../arrival/arrive.ts';
import { lockInboxesOf } from '../arrival/arriving-mails.ts';
import { SCAN_GRACE, scanStart } from '../scan/workflow.ts';
import { findQuarantineItems } from './message-model.ts';
import {
  deleteMessage,
  lockQuarantined,
  markReleased,
  type QuarantinedRow,
  scheduleScan,
} from './quarantine-model.ts';
import type { ListQuarantineQuery } from './schema.ts';

/** The messages of a page, newest first, without their texts. */
export function listQuarantine(
  db: Queryable,
  scope: BrandScope,
  { inbox_id: inboxId, reason }: ListQuarantineQuery,
  page: Page,
): Promise<{ items: SizedItem[]; count: RowCount }> {
  return findQuarantineItems(db, scope, { inboxId, reason }, page);
}

/** Locks a message in quarantine, after its inbox, as everything does that lets mail arrive. */
async function lock(trx: Queryable, scope: BrandScope, id: number): Promise<QuarantinedRow> {
  await lockInboxesOf(trx, [id]);
  const row = await lockQuarantined(trx, scope, id);
  if (!row) throw notFound('message');
  if (row.arrived_at === null) return row;
  throw new AppError('invalid_transition', 'the message was released, and is no longer in quarantine');
}

/**
 * Releases a message from quarantine: it arrives in its conversation, and is reported. Attachments that have not been
 * scanned are scanned from now on.
 * @returns what to do after the commit
 * @throws AppError not_found; invalid_transition if it was released before, or contains a virus
 */
export async function releaseMessage(
  trx: Queryable,
  deps: ArrivalDeps,
  scope: BrandScope,
  id: number,
): Promise<() => void> {
  const row = await lock(trx, scope, id);
  if (row.reason === 'virus') {
    throw new AppError('invalid_transition', 'the message contains a virus, and is never released');
  }
  await markReleased(trx, id);
  const { afterCommit } = await arriveLocked(trx, deps, [id]);
  if (!row.has_unscanned) return afterCommit;
  await scheduleScan(trx, id, SCAN_GRACE);
  const { accountId, brandId } = scope;
  const start = scanStart({ id, accountId, brandId, received_at: row.received_at });
  await appendToOutbox(trx, { kind: 'start', ...start });
  return () => {
    afterCommit();
    deps.waker.wake('outbox');
  };
}

/** Deletes a message in quarantine with its files. @throws AppError not_found; invalid_transition if it was released */
export async function deleteQuarantined(trx: Queryable, scope: BrandScope, id: number): Promise<void> {
  await lock(trx, scope, id);
  await deleteMessage(trx, id);
}
