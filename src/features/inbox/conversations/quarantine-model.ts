/** Statements of mail in quarantine. */
import type { BrandScope } from '../../../platform/db/model.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { QuarantineReason } from '../mail/mail.ts';

export interface QuarantinedRow {
  reason: QuarantineReason;
  /** ISO 8601; null: it is still in quarantine. */
  released_at: string | null;
}

/** Locks a message that is or was in quarantine. @returns null if the brand has no such message */
export async function lockQuarantined(
  trx: Queryable,
  { accountId, brandId }: BrandScope,
  id: number,
): Promise<QuarantinedRow | null> {
  const { rows } = await trx.query<QuarantinedRow>(
    `select quarantine->>'reason' as reason, quarantine->>'released_at' as released_at from conversation_messages
     where account_id = $1 and brand_id = $2 and id = $3 and quarantine is not null for update`,
    [accountId, brandId, id],
  );
  return rows[0] ?? null;
}

export async function markReleased(trx: Queryable, id: number): Promise<void> {
  await trx.query(
    `update conversation_messages
     set quarantine = jsonb_set(quarantine, '{released_at}', to_jsonb(to_char(now() at time zone 'UTC',
       'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))
     where id = $1`,
    [id],
  );
}

/**
 * Records that a released message is to be scanned, with the attachments that were left out because of the quarantine.
 * @param grace SQL: how long its workflow need not be active
 */
export async function scheduleScan(trx: Queryable, id: number, grace: string): Promise<void> {
  await trx.query(
    `with pending as (
       update conversation_attachments set scan_status = 'pending', scan_reason = null
       where conversation_message_id = $1 and scan_status = 'skipped' and scan_reason = 'quarantined')
     update conversation_messages set scan_state = 'pending', engine_expected_by = now() + ${grace} where id = $1`,
    [id],
  );
}

export async function deleteMessage(trx: Queryable, id: number): Promise<void> {
  await trx.query('delete from conversation_messages where id = $1', [id]);
}
