/** A message to several inboxes of an account is read for each of them. Its attachments are stored once. */
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { MailAttachment } from '../mail/mail.ts';
import { lockSharedFiles, shareFiles } from '../receive/shared-files.ts';
import type { MailToWrite } from './take-mails.ts';

/** A stored attachment of a mail. */
type StoredFile = Pick<MailAttachment, 'size' | 'contentType' | 'storageKey'>;

/** A mail that is about to be written, and what it stores. */
export interface StoredMail extends MailToWrite {
  /** Bytes of its raw mail and attachments, also of those that it shares. */
  bytes: number;
  /** Its attachments are those of another mail. */
  sharesAttachments: boolean;
}

export interface SharedMails {
  mails: StoredMail[];
  /** Keys of attachments that were stored a second time. No row refers to them. */
  surplus: string[];
}

const size = (files: readonly Pick<StoredFile, 'size'>[]) => files.reduce((sum, file) => sum + file.size, 0);

interface SiblingRow {
  raw_key: string;
  files: { size: number; content_type: string; storage_key: string | null }[];
}

/**
 * Finds the attachments of one mail for each of these raw mails, and keeps them from being removed until the transaction
 * ends. Those that are being removed are left out.
 */
async function findSiblings(trx: Queryable, rawKeys: readonly string[]): Promise<Map<string, StoredFile[]>> {
  const { rows } = await trx.query<SiblingRow>({
    name: 'find_sibling_attachments',
    text: `
      with siblings as materialized (
        select raw_key, min(id) as id from conversation_messages where raw_key = any($1) group by raw_key
      ), files as materialized (
        select a.id, a.conversation_message_id, a.size, a.content_type, a.storage_key from conversation_attachments a
        where a.conversation_message_id in (select id from siblings) order by a.id for share skip locked
      )
      select s.raw_key, coalesce(json_agg(json_build_object('size', f.size, 'content_type', f.content_type,
          'storage_key', f.storage_key) order by f.id) filter (where f.id is not null), '[]') as files
      from siblings s left join files f on f.conversation_message_id = s.id group by s.raw_key`,
    values: [rawKeys],
  });
  return new Map(
    rows.map(({ raw_key: key, files }) => [
      key,
      files.flatMap((file): StoredFile[] =>
        file.storage_key === null
          ? []
          : [{ size: file.size, contentType: file.content_type, storageKey: file.storage_key }],
      ),
    ]),
  );
}

/** Whether a mail that was read again has the same attachments. */
const areSame = (own: readonly StoredFile[], others: readonly StoredFile[]): boolean =>
  own.length === others.length &&
  own.every(
    (file, place) => file.size === others[place]?.size && file.contentType === others[place].contentType,
  );

/**
 * Lets mails that share their raw mail share their attachments, too. Locks the raw mails that are shared, so that of two
 * such mails the later one finds the earlier.
 * @param mails in the order in which they are written
 * @param others further mails of the transaction, which end uses of their raw mails later. They are locked together: two
 * transactions would wait for each other otherwise.
 */
export async function shareAttachments(
  trx: Queryable,
  mails: readonly MailToWrite[],
  others: readonly MailToWrite[],
): Promise<SharedMails> {
  const rawKeys = [...new Set([...mails, ...others].map(({ claimed }) => claimed.raw_key))];
  const shared = rawKeys.length === 0 ? new Set<string>() : await lockSharedFiles(trx, rawKeys);
  const siblings = shared.size === 0 ? new Map<string, StoredFile[]>() : await findSiblings(trx, [...shared]);
  const surplus: string[] = [];
  const written: StoredMail[] = [];
  for (const mail of mails) {
    const { claimed, read } = mail;
    const { raw_key: rawKey, account_id: accountId } = claimed;
    const bytes = claimed.size + size(read.attachments);
    const sibling = siblings.get(rawKey);
    if (shared.has(rawKey) && !sibling) siblings.set(rawKey, read.attachments);
    if (!sibling || !areSame(read.attachments, sibling)) {
      written.push({ ...mail, bytes, sharesAttachments: false });
      continue;
    }
    await shareFiles(
      trx,
      sibling.map(({ storageKey }) => ({ key: storageKey, accountId, uses: 2 })),
    );
    surplus.push(...read.attachments.map(({ storageKey }) => storageKey));
    const attachments = read.attachments.map((file, place) => ({
      ...file,
      storageKey: (sibling[place] as StoredFile).storageKey,
    }));
    written.push({ claimed, read: { ...read, attachments }, bytes, sharesAttachments: true });
  }
  return { mails: written, surplus };
}
