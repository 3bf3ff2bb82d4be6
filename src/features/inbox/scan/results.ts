/** Statements that read which files of a mail are to be scanned, and store what was found. */
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { Verdict } from './clamd.ts';
import { SCAN_GRACE } from './workflow.ts';

/** Why a file has no verdict: there is no scanner, it was unavailable for too long, or the file is gone. */
export type NoVerdict = 'no_scanner' | 'scanner_unavailable' | 'missing';

export interface FileToScan {
  attachmentId: number;
  key: string;
}

/** A mail whose scan is not over. */
export interface ScannedMail {
  /** When it was received, or released from quarantine. */
  since: Date;
  rawKey: string | null;
  /** Attachments without a result. */
  pending: FileToScan[];
  attachments: number;
  /** Attachments in which a virus was found. */
  infected: number;
}

const openSql = `
  update conversation_messages m
  set engine_expected_by = greatest(m.engine_expected_by, $2::timestamptz + ${SCAN_GRACE})
  where m.id = $1 and m.scan_state = 'pending'
  returning greatest(m.received_at, (m.quarantine ->> 'released_at')::timestamptz) as since, m.raw_key as "rawKey",
    (select count(*)::int from conversation_attachments a where a.conversation_message_id = m.id) as attachments,
    (select count(*)::int from conversation_attachments a
      where a.conversation_message_id = m.id and a.scan_status = 'infected') as infected,
    (select coalesce(json_agg(json_build_object('attachmentId', a.id, 'key', a.storage_key) order by a.id), '[]')
      from conversation_attachments a
      where a.conversation_message_id = m.id and a.scan_status = 'pending') as pending`;

/**
 * Reads what is left to scan, and records that the workflow is active.
 * @returns null if the mail does not exist, or its scan is over
 */
export async function findScan(db: Queryable, id: number, asOf: Date): Promise<ScannedMail | null> {
  const { rows } = await db.query<ScannedMail>(openSql, [id, asOf]);
  return rows[0] ?? null;
}

/** Stores that an attachment is clean, or why it has no verdict. An earlier result stays. */
export async function saveResult(
  db: Queryable,
  attachmentId: number,
  result: Exclude<Verdict, { status: 'infected' }> | { status: 'skipped'; reason: NoVerdict },
): Promise<void> {
  await db.query(
    `update conversation_attachments set scan_status = $2, scan_reason = $3
     where id = $1 and scan_status = 'pending'`,
    [attachmentId, result.status, result.status === 'skipped' ? result.reason : null],
  );
}

const quarantineSql = `
  update conversation_messages
  set quarantine = jsonb_build_object('reason', 'virus', 'detail', $2::text, 'at', now(), 'released_at', null)
  where id = $1 and arrived_at is null and quarantine ->> 'reason' is distinct from 'virus'`;

const removeInfectedSql = `
  with found as (
    select id, account_id, storage_key, size from conversation_attachments
    where conversation_message_id = $1 and ($2::bigint is null or id = $2) and scan_status <> 'infected'
    order by id for update
  ), removed as (
    insert into inbox_removed_files (key, account_id, size)
    select storage_key, account_id, size from found where storage_key is not null on conflict do nothing
  )
  update conversation_attachments a set scan_status = 'infected', scan_reason = $3, storage_key = null
  from found where a.id = found.id`;

/**
 * Stores that a virus was found: the mail goes to quarantine unless it has arrived, and the file is removed.
 * @param trx the caller's transaction
 * @param found `attachmentId`: null if the virus is in the mail, but no attachment has it: then all are removed
 */
export async function saveVirus(
  trx: Queryable,
  id: number,
  found: { attachmentId: number | null; signature: string },
): Promise<void> {
  await trx.query(quarantineSql, [id, found.signature]);
  await trx.query(removeInfectedSql, [id, found.attachmentId, found.signature]);
}

/** Stores that no attachment will have a verdict that has none yet. */
export async function giveUpAttachments(trx: Queryable, id: number, reason: NoVerdict): Promise<void> {
  await trx.query(
    `update conversation_attachments set scan_status = 'skipped', scan_reason = $2
     where conversation_message_id = $1 and scan_status = 'pending'`,
    [id, reason],
  );
}

/** Ends the scan. */
export async function endScan(trx: Queryable, id: number): Promise<void> {
  await trx.query(
    `update conversation_messages set scan_state = 'done', engine_expected_by = null
     where id = $1 and scan_state = 'pending'`,
    [id],
  );
}

/**
 * Locks the mail, and checks whether it may arrive: it has not arrived, and is not in quarantine.
 * @param trx has the lock of the inbox, and none of a contact or conversation
 */
export async function mayArrive(trx: Queryable, id: number): Promise<boolean> {
  const { rows } = await trx.query<{ may_arrive: boolean }>(
    `select arrived_at is null and (quarantine is null or quarantine ->> 'released_at' is not null) as may_arrive
     from conversation_messages where id = $1 for no key update`,
    [id],
  );
  return rows[0]?.may_arrive ?? false;
}
