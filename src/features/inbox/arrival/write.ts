/** Writes mails that were read: into quarantine, to be scanned, or into conversations. */
import type { Queryable } from '../../../platform/db/queryable.ts';
import { appendToOutbox } from '../../../platform/outbox/append.ts';
import { addBytes } from '../receive/mails.ts';
import { scanStart } from '../scan/workflow.ts';
import { type ArrivalDeps, arrive } from './arrive.ts';
import { lockInboxes } from './arriving-mails.ts';
import { findBlocked } from './blocked-senders.ts';
import { type Fate, type InsertedMail, insertMails, type JudgedMail } from './insert-mails.ts';
import { countRepetitions } from './repetitions.ts';
import { shareAttachments, type StoredMail } from './shared-attachments.ts';
import type { StrangerJudge } from './strangers.ts';
import { type MailToWrite, takeMails } from './take-mails.ts';

export interface WriteDeps extends ArrivalDeps {
  /** Whether mail is scanned for viruses: the setting CLAMD_URL is set. */
  hasScanner: boolean;
  strangers: StrangerJudge;
}

/** What has become of a group of mails: the number of each kind. */
export interface WrittenMails {
  arrived: number;
  scanned: number;
  quarantined: number;
  duplicates: number;
  /** Mails that another process has claimed meanwhile. Nothing of them was written; their attachments can be removed. */
  stale: MailToWrite[];
  /** Keys of further files to remove after the commit: another mail stores the same. */
  surplus: string[];
  /** Call it after the commit. */
  afterCommit: () => void;
}

/** Decides what happens to each mail. */
async function judge(trx: Queryable, deps: WriteDeps, mails: readonly StoredMail[]): Promise<JudgedMail[]> {
  const blocked = await findBlocked(trx, mails);
  const fateOf = ({ claimed, read: { suspicion } }: StoredMail): Fate => {
    if (suspicion !== null) return { kind: 'is_quarantined', ...suspicion };
    const block = blocked.get(claimed.id);
    if (block !== undefined)
      return { kind: 'is_quarantined', reason: 'blocked', detail: `${block} is blocked` };
    return { kind: deps.hasScanner ? 'is_scanned' : 'arrives' };
  };
  const judged = mails.map((mail) => ({ ...mail, fate: fateOf(mail) }));
  const wanted = judged.filter(({ fate }) => fate.kind !== 'is_quarantined');
  const tooMuch = await deps.strangers.judge(trx, wanted);
  return judged.map((mail) => {
    const detail = tooMuch.get(mail.claimed.id);
    if (detail === undefined) return mail;
    return { ...mail, fate: { kind: 'is_quarantined', reason: 'storage', detail } };
  });
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

/**
 * Counts attachments for the quotas of their accounts. The raw mails were counted when they were accepted. Files of
 * duplicates are counted until they are removed.
 */
async function countAttachments(
  trx: Queryable,
  stored: readonly StoredMail[],
  duplicates: readonly MailToWrite[],
): Promise<void> {
  const bytes = new Map<number, number>();
  const add = ({ claimed: { account_id: id }, read }: MailToWrite) => {
    const size = read.attachments.reduce((sum, attachment) => sum + attachment.size, 0);
    if (size > 0) bytes.set(id, (bytes.get(id) ?? 0) + size);
  };
  for (const mail of duplicates) add(mail);
  for (const mail of stored) if (!mail.sharesAttachments) add(mail);
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
  const duplicates = repetitions.map(({ mail }) => mail);
  const { mails: stored, surplus } = await shareAttachments(trx, fresh, duplicates);
  const judged = await judge(trx, deps, stored);
  const inserted = await insertMails(trx, judged, deps.hasScanner);
  await countRepetitions(trx, repetitions, inserted);
  const withFate = (kind: Fate['kind']) => inserted.filter(({ fate }) => fate.kind === kind);
  const toScan = withFate('is_scanned');
  await startScans(trx, toScan);
  const arriving = withFate('arrives').map(({ conversationMessageId }) => conversationMessageId);
  const arrived = await arrive(trx, deps, arriving);
  await forgetFiles(trx, duplicates);
  await countAttachments(trx, stored, duplicates);
  return {
    arrived: arriving.length,
    scanned: toScan.length,
    quarantined: inserted.length - arriving.length - toScan.length,
    duplicates: duplicates.length,
    stale,
    surplus,
    afterCommit() {
      if (toScan.length > 0) deps.waker.wake('outbox');
      arrived.afterCommit();
    },
  };
}
