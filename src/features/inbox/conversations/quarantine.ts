/** Mail in quarantine: listed, released or deleted. */
import { AppError, notFound } from '../../../errors.ts';
import type { BrandScope } from '../../../platform/db/model.ts';
import type { Page, RowCount, SizedItem } from '../../../platform/db/paging.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { appendToOutbox } from '../../../platform/outbox/append.ts';
import { type ArrivalDeps, arrive } from '../arrival/arrive.ts';
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
  if (row.released_at === null) return row;
  throw new AppError('invalid_transition', 'the message was released, and is no longer in quarantine');
}

export interface ReleaseDeps extends ArrivalDeps {
  /** Whether mail is scanned for viruses: the setting CLAMD_URL is set. */
  hasScanner: boolean;
}

/**
 * Releases a message from quarantine: it arrives in its conversation, and is reported. If mail is scanned, it arrives
 * after the scan, as if it had been received now.
 * @returns what to do after the commit
 * @throws AppError not_found; invalid_transition if it was released before, or contains a virus
 */
export async function releaseMessage(
  trx: Queryable,
  deps: ReleaseDeps,
  scope: BrandScope,
  id: number,
): Promise<() => void> {
  const { reason } = await lock(trx, scope, id);
  if (reason === 'virus') {
    throw new AppError('invalid_transition', 'the message contains a virus, and is never released');
  }
  await markReleased(trx, id);
  if (!deps.hasScanner) return (await arrive(trx, deps, [id])).afterCommit;
  await scheduleScan(trx, id, SCAN_GRACE);
  const { accountId, brandId } = scope;
  const start = scanStart({ id, accountId, brandId, received_at: new Date() });
  await appendToOutbox(trx, { kind: 'start', ...start });
  return () => deps.waker.wake('outbox');
}

/** Deletes a message in quarantine with its files. @throws AppError not_found; invalid_transition if it was released */
export async function deleteQuarantined(trx: Queryable, scope: BrandScope, id: number): Promise<void> {
  await lock(trx, scope, id);
  await deleteMessage(trx, id);
}
