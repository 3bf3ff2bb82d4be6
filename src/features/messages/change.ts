/** Moving scheduled messages to another time. */
import { moveScheduled } from '../../delivery/ledger/cancel/move.ts';
import { backlogName } from '../../delivery/terms/backlog.ts';
import { channelOfQueue } from '../../delivery/terms/channels/queue-channel.ts';
import { messageClasses } from '../../delivery/terms/message.ts';
import { invalid } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import { keySpace } from '../../platform/db/idempotency.ts';
import { inTransaction } from '../../platform/db/queryable.ts';
import type { Waker } from '../../platform/db/wake.ts';
import type { Attachments } from '../attachments/service.ts';
import { type ChangeDeps, findChangeable, refusedBy } from './cancel.ts';
import { findLetterFiles } from './letter-model.ts';
import type { Reader } from './letter-presenter.ts';
import { MESSAGES_ENDPOINT } from './message-key.ts';
import { findMessage } from './model.ts';
import { readSchedule } from './schedule.ts';

export interface MoveDeps extends ChangeDeps {
  waker: Pick<Waker, 'wake'>;
  attachments: Pick<Attachments, 'keepFiles'>;
  /** The setting MESSAGE_CONTENT_RETENTION_DAYS. */
  contentDays: number;
}

const KEY_SPACES = [keySpace(MESSAGES_ENDPOINT, false), keySpace(MESSAGES_ENDPOINT, true)];

/**
 * Moves a scheduled message to another time, with all copies of its letter that are scheduled: they have one header.
 * @param text the time as the client gives it; one of the last five minutes means now
 * @throws AppError validation_error, not_found, test_key, invalid_transition
 */
export async function moveMessage(
  deps: MoveDeps,
  tenant: Tenant,
  reader: Reader,
  id: number,
  text: string,
): Promise<void> {
  const { pool, attachments } = deps;
  const { time, errors } = readSchedule(text, deps.contentDays, 'give the present time');
  if (Object.keys(errors).length > 0) throw invalid(errors);
  const asked = await findChangeable(pool, tenant, id, 'change');
  const until = time ?? new Date();
  if (typeof asked.letter_id === 'number') {
    // Before the transaction: files that are kept for too long do no harm, and this waits for no lock of it.
    const files = (await findLetterFiles(pool, asked.letter_id)).filter(({ stored }) => stored);
    const hashes = files.map(({ sha256 }) => sha256);
    if (hashes.length > 0) await attachments.keepFiles(tenant, hashes, until);
  }
  const moved = await inTransaction(pool, async (trx) => {
    const found = await moveScheduled(trx, tenant.accountId, asked.message_ids ?? [id], until, KEY_SPACES);
    const refusing = found.find(
      (each) => each.outcome === 'not_scheduled' || (each.id === id && each.outcome !== 'moved'),
    );
    if (refusing)
      throw refusedBy(reader, { asked, refusing: await findMessage(trx, tenant, refusing.id) }, 'moved');
    return found;
  });
  const names = moved.flatMap(({ queue, provider: providerId }) => {
    const channel = queue && channelOfQueue(queue);
    if (!channel || providerId === null) return [];
    return backlogName({
      channel,
      queue,
      class: messageClasses.transactional,
      accountId: tenant.accountId,
      providerId,
    });
  });
  if (names.length > 0) deps.waker.wake('send', [...new Set(names)]);
}
