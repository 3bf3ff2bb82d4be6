/** Statements of mail in quarantine. */
import type { BrandScope } from '../../../platform/db/model.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { QuarantineReason } from '../mail/mail.ts';

export interface QuarantinedRow {
  reason: QuarantineReason;
  /** Null: it is still in quarantine. */
  arrived_at: Date | null;
  received_at: Date;
  /** Whether a scanner has yet to see one of its attachments. */
  has_unscanned: boolean;
}

/** Locks a message that is or was in quarantine. @returns null if the brand has no such message */
export async function lockQuarantined(
  trx: Queryable,
  { accountId, brandId }: BrandScope,
  id: number,
): Promise<QuarantinedRow | null> {
  const { rows } = await trx.query<QuarantinedRow>(
    `select cm.quarantine->>'reason' as reason, cm.arrived_at, cm.received_at, exists (
       select from conversation_attachments a
       where a.conversation_message_id = cm.id and a.scan_status = 'pending') as has_unscanned
     from conversation_messages cm
     where cm.account_id = $1 and cm.brand_id = $2 and cm.id = $3 and cm.quarantine is not null
     for update of cm`,
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

/** Records that the workflow of a message's scan must run. @param grace SQL: how long it need not be active */
export async function scheduleScan(trx: Queryable, id: number, grace: string): Promise<void> {
  await trx.query(
    `update conversation_messages set scan_state = 'pending', engine_expected_by = now() + ${grace} where id = $1`,
    [id],
  );
}

export async function deleteMessage(trx: Queryable, id: number): Promise<void> {
  await trx.query('delete from conversation_messages where id = $1', [id]);
}
