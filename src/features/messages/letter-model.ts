/** Statements of letters: what the copies of an email share. */
import type { RecipientKind } from '../../delivery/terms/letter.ts';
import { suppressedSql } from '../../delivery/ledger/consent/suppressions.ts';
import type { MessageStatus } from '../../delivery/terms/message.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import type { AccountScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { type FoundMessage, sendingSql } from './model.ts';

/** A file of a letter. */
export interface LetterFileRow {
  n: number;
  filename: string;
  /** With its parameters. */
  content_type: string;
  content_id: string | null;
  disposition: 'attachment' | 'inline';
  /** Bytes. */
  size: number;
  sha256: Buffer;
  /** False: of a test key, whose files are not kept. */
  stored: boolean;
}

/** Whether a file is the body of an opaque letter, which its message does not list. */
export const isOpaqueBody = ({ n }: Pick<LetterFileRow, 'n'>): boolean => n === 0;

/** The message of a file. */
type FileOwner = Pick<FoundMessage, 'test' | 'provider' | 'send_key_id'>;

const FILE_COLUMNS = 'n, filename, content_type, content_id, disposition, size, sha256, stored';

export async function findLetterFiles(db: Queryable, letterId: number): Promise<LetterFileRow[]> {
  const { rows } = await db.query<LetterFileRow>(
    `select ${FILE_COLUMNS} from message_attachments where message_id = $1 order by n`,
    [letterId],
  );
  return rows;
}

/** Finds the files of the letter of a message; none unless it is of the brand. */
export async function findFilesOfMessage(
  db: Queryable,
  { brandId }: Pick<Tenant, 'brandId'>,
  messageId: number,
): Promise<LetterFileRow[]> {
  const { rows } = await db.query<LetterFileRow>(
    `select ${FILE_COLUMNS} from (select letter_id from messages where brand_id = $1 and id = $2) m
     join message_attachments a on a.message_id = m.letter_id order by n`,
    [brandId, messageId],
  );
  return rows;
}

/** @returns null unless a message of the brand has such a file */
export async function findLetterFile(
  db: Queryable,
  { brandId }: Pick<Tenant, 'brandId'>,
  messageId: number,
  n: number,
): Promise<(LetterFileRow & FileOwner) | null> {
  const { rows } = await db.query<LetterFileRow & FileOwner>(
    `select ${FILE_COLUMNS}, m.test, m.provider, m.send_key_id
     from (select letter_id, test, provider, send_key_id from messages where brand_id = $1 and id = $2) m
     join message_attachments a on a.message_id = m.letter_id and a.n = $3::bigint`,
    [brandId, messageId, n],
  );
  return rows[0] ?? null;
}

/**
 * Finds the addresses to which the account sends nothing.
 * @param keys in the form of `to_key`
 * @param plusAddresses the setting SUPPRESS_PLUS_ADDRESSES
 */
export async function findSuppressed(
  db: Queryable,
  { accountId }: AccountScope,
  keys: readonly string[],
  plusAddresses: boolean,
): Promise<Set<string>> {
  const suppressed = suppressedSql({
    account: '$1::bigint',
    key: 'k.key',
    plusAddresses: '$3::boolean',
    byKey: true,
  });
  const { rows } = await db.query<{ key: string }>({
    name: 'find_suppressed',
    text: `select k.key from unnest($2::text[]) as k (key) where ${suppressed}`,
    values: [accountId, keys, plusAddresses],
  });
  return new Set(rows.map(({ key }) => key));
}

/** A copy of a letter. */
export interface CopyRow {
  id: number;
  recipient_kind: RecipientKind;
  /** Null: its contact was removed. */
  to_address: string | null;
  status: MessageStatus;
  scheduled_at: Date | null;
  /** Whether an open intent covers it. */
  sending: boolean;
  /** Whether its account sends nothing to the address. */
  suppressed: boolean;
}

/**
 * Finds the copies of a letter, the lead first.
 * @param plusAddresses the setting SUPPRESS_PLUS_ADDRESSES
 */
export async function findCopies(
  db: Queryable,
  { brandId }: Pick<Tenant, 'brandId'>,
  ids: readonly number[],
  plusAddresses: boolean,
): Promise<CopyRow[]> {
  const suppressed = suppressedSql({
    account: 'm.account_id',
    key: 'm.to_key',
    plusAddresses: '$5::boolean',
  });
  const { rows } = await db.query<CopyRow>(
    `select m.id, m.recipient_kind, m.to_address, m.status, m.scheduled_at, ${sendingSql} as sending,
       m.to_key is not null and ${suppressed} as suppressed
     from messages m where m.brand_id = $1 and m.id = any($2) and m.id between $3 and $4 order by m.id`,
    [brandId, ids, Math.min(...ids), Math.max(...ids), plusAddresses],
  );
  return rows;
}
