/** Writes mails that were read: into quarantine, to be scanned, or into conversations. */
import type { Queryable } from '../../../platform/db/queryable.ts';
import { appendToOutbox } from '../../../platform/outbox/append.ts';
import { addBytes } from '../receive/mails.ts';
import { scanStart } from '../scan/workflow.ts';
import { type ArrivalDeps, arrive } from './arrive.ts';
import { lockInboxes } from './arriving-mails.ts';
import { findBlocked } from './blocked-senders.ts';
import { type Fate, type InsertedMail, insertMails } from './insert-mails.ts';
import { countRepetitions } from './repetitions.ts';
import { type MailToWrite, takeMails } from './take-mails.ts';

export interface WriteDeps extends ArrivalDeps {
  /** Whether mail is scanned for viruses: the setting CLAMD_URL is set. */
  hasScanner: boolean;
}

/** What has become of a group of mails: the number of each kind. */
export interface WrittenMails {
  arrived: number;
  scanned: number;
  quarantined: number;
  duplicates: number;
  /** Mails that another process has claimed meanwhile. Nothing of them was written; their attachments can be removed. */
  stale: MailToWrite[];
  /** Call it after the commit. */
  afterCommit: () => void;
}

function fateOf({ read }: MailToWrite, block: string | undefined, hasScanner: boolean): Fate {
  if (read.suspicion !== null) return { kind: 'is_quarantined', ...read.suspicion };
  if (block !== undefined)
    return { kind: 'is_quarantined', reason: 'blocked', detail: `${block} is blocked` };
  return hasScanner ? { kind: 'is_scanned' } : { kind: 'arrives' };
}

/** Has the files of mails that were delivered twice removed soon. */
async function forgetFiles(trx: Queryable, mails: readonly MailToWrite[]): Promise<void> {
  if (mails.length === 0) return;
  const files = mails.flatMap(({ claimed: { account_id, raw_key, size }, read }) => [
    { key: raw_key, account_id, size },
    ...read.attachments.map((attachment) => ({
      key: attachment.storageKey,
      account_id,
      size: attachment.size,
    })),
  ]);
  await trx.query(
    `insert into inbox_removed_files (key, account_id, size)
     select * from json_to_recordset($1) as f (key text, account_id bigint, size bigint) order by key
     on conflict do nothing`,
    [JSON.stringify(files)],
  );
}

/** Counts attachments for the quotas of their accounts. The raw mails were counted when they were accepted. */
async function countAttachments(trx: Queryable, mails: readonly MailToWrite[]): Promise<void> {
  const bytes = new Map<number, number>();
  for (const { claimed, read } of mails) {
    const size = read.attachments.reduce((sum, attachment) => sum + attachment.size, 0);
    if (size > 0) bytes.set(claimed.account_id, (bytes.get(claimed.account_id) ?? 0) + size);
  }
  if (bytes.size > 0) await addBytes(trx, bytes);
}

async function startScans(trx: Queryable, mails: readonly InsertedMail[]): Promise<void> {
  const starts = mails.map(({ conversationMessageId: id, claimed }) => ({
    kind: 'start' as const,
    ...scanStart({
      id,
      accountId: claimed.account_id,
      brandId: claimed.brand_id,
      received_at: claimed.received_at,
    }),
  }));
  await appendToOutbox(trx, starts, 2);
}

/**
 * Writes a group of mails and takes them out of the queue. A mail that the inbox has received within 30 days is only
 * counted, and one that another process has claimed meanwhile is left out.
 * @param trx a transaction that does nothing else
 */
export async function writeMails(
  trx: Queryable,
  deps: WriteDeps,
  group: readonly MailToWrite[],
): Promise<WrittenMails> {
  const mails = group.toSorted((one, other) => one.claimed.id - other.claimed.id);
  await lockInboxes(
    trx,
    mails.map(({ claimed }) => claimed.inbox_id),
  );
  const { fresh, repetitions, stale } = await takeMails(trx, mails);
  const blocked = await findBlocked(trx, fresh);
  const judged = fresh.map(({ claimed, read }) => ({
    claimed,
    read,
    fate: fateOf({ claimed, read }, blocked.get(claimed.id), deps.hasScanner),
  }));
  const inserted = await insertMails(trx, judged, deps.hasScanner);
  await countRepetitions(trx, repetitions, inserted);
  const withFate = (kind: Fate['kind']) => inserted.filter(({ fate }) => fate.kind === kind);
  const toScan = withFate('is_scanned');
  await startScans(trx, toScan);
  const arriving = withFate('arrives').map(({ conversationMessageId }) => conversationMessageId);
  const arrived = await arrive(trx, deps, arriving);
  const duplicates = repetitions.map(({ mail }) => mail);
  await forgetFiles(trx, duplicates);
  await countAttachments(trx, [...fresh, ...duplicates]);
  return {
    arrived: arriving.length,
    scanned: toScan.length,
    quarantined: inserted.length - arriving.length - toScan.length,
    duplicates: duplicates.length,
    stale,
    afterCommit() {
      if (toScan.length > 0) deps.waker.wake('outbox');
      arrived.afterCommit();
    },
  };
}
