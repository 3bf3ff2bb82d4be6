import type { Queryable } from '../../../platform/db/queryable.ts';
import { shareFiles } from './shared-files.ts';

/** A row of `inbound_mails`: a mail that was accepted for one inbox. */
export interface NewMail {
  accountId: number;
  brandId: number;
  inboxId: number;
  /** The blob with the message, which the mails to all inboxes of the account share. */
  rawKey: string;
  /** Bytes. */
  size: number;
  source: 'smtp' | 'http';
  envelopeFrom: string;
  recipient: string;
  ip: string | null;
  helo: string | null;
  answersMessageId: number | null;
  /** A report that was not understood. */
  isReport: boolean;
}

const ADD_BYTES = `
  insert into inbox_storage as s (account_id, bytes)
  select * from unnest($1::bigint[], $2::bigint[]) as u (account_id, bytes) order by account_id
  on conflict (account_id) do update set bytes = s.bytes + excluded.bytes
  returning account_id, bytes`;

const INSERT_MAILS = `
  insert into inbound_mails (account_id, brand_id, inbox_id, raw_key, size, source, envelope_from, recipient, ip, helo,
    answers_message_id, report_claims)
  select * from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::int[], $6::text[], $7::text[],
    $8::text[], $9::text[], $10::text[], $11::bigint[], $12::smallint[])`;

/** `$13`: the account of all mails, `$14`: its quota, `$15`: the bytes of the mails. */
const INSERT_MAILS_OF_ACCOUNT = `
  with room as (
    insert into inbox_storage as s (account_id, bytes)
    select $13::bigint, $15::bigint where $15::bigint <= $14::bigint
    on conflict (account_id) do update set bytes = s.bytes + excluded.bytes
      where s.bytes + excluded.bytes <= $14::bigint
    returning s.account_id
  )
  ${INSERT_MAILS}
  where exists (select from room)`;

/**
 * Adds bytes to what accounts have stored, and locks these rows in the order of the accounts.
 * @returns what they have stored then
 */
export async function addBytes(
  client: Queryable,
  bytesByAccount: ReadonlyMap<number, number>,
): Promise<Map<number, number>> {
  const { rows } = await client.query<{ account_id: number; bytes: number }>({
    name: 'add_inbox_bytes',
    text: ADD_BYTES,
    values: [[...bytesByAccount.keys()], [...bytesByAccount.values()]],
  });
  return new Map(rows.map((row) => [row.account_id, row.bytes]));
}

/** Bytes of the blobs, by account. */
function bytesOf(mails: readonly NewMail[]): Map<number, number> {
  const blobs = new Map(mails.map((mail) => [mail.rawKey, mail]));
  const bytes = new Map<number, number>();
  for (const { accountId, size } of blobs.values()) bytes.set(accountId, (bytes.get(accountId) ?? 0) + size);
  return bytes;
}

/**
 * Counts the mails of a group against the quotas of their accounts.
 * @param group each mail with the rows of all its inboxes
 * @returns for each mail whether all its accounts have room for it
 */
export async function reserveStorage(
  client: Queryable,
  group: readonly NewMail[][],
  quotaBytes: number,
): Promise<boolean[]> {
  const wanted = bytesOf(group.flat());
  const used = await addBytes(client, wanted);
  for (const [accountId, bytes] of wanted) used.set(accountId, (used.get(accountId) ?? 0) - bytes);
  const accepted = group.map((mail) => {
    const bytes = bytesOf(mail);
    const fits = [...bytes].every(([accountId, more]) => (used.get(accountId) ?? 0) + more <= quotaBytes);
    if (fits) for (const [accountId, more] of bytes) used.set(accountId, (used.get(accountId) ?? 0) + more);
    return fits;
  });
  const surplus = bytesOf(group.filter((_mail, index) => !accepted[index]).flat());
  if (surplus.size > 0) await addBytes(client, new Map([...surplus].map(([id, bytes]) => [id, -bytes])));
  return accepted;
}

const columnsOf = (mails: readonly NewMail[]) => [
  mails.map((mail) => mail.accountId),
  mails.map((mail) => mail.brandId),
  mails.map((mail) => mail.inboxId),
  mails.map((mail) => mail.rawKey),
  mails.map((mail) => mail.size),
  mails.map((mail) => mail.source),
  mails.map((mail) => mail.envelopeFrom),
  mails.map((mail) => mail.recipient),
  mails.map((mail) => mail.ip),
  mails.map((mail) => mail.helo),
  mails.map((mail) => mail.answersMessageId),
  mails.map((mail) => (mail.isReport ? 0 : null)),
];

/**
 * Inserts the mails of a group and counts them against the quota in one statement, after which only the commit is left: all
 * other mail to the account waits for the lock that the count takes. That is how nearly all mail is accepted.
 * @returns false, and inserts nothing, unless they are mails to one inbox each, of one account, which has room for all
 */
export async function insertMailsAtOnce(
  db: Queryable,
  group: readonly NewMail[][],
  quotaBytes: number,
): Promise<boolean> {
  const mails = group.flat();
  const [first] = mails;
  if (!first || mails.length > group.length) return false;
  if (mails.some(({ accountId }) => accountId !== first.accountId)) return false;
  const bytes = mails.reduce((sum, { size }) => sum + size, 0);
  const { rowCount } = await db.query({
    name: 'insert_inbound_mails_of_account',
    text: INSERT_MAILS_OF_ACCOUNT,
    values: [...columnsOf(mails), first.accountId, quotaBytes, bytes],
  });
  return rowCount !== 0;
}

/** Inserts the mails, and records which blobs several of them share. */
export async function insertMails(client: Queryable, mails: readonly NewMail[]): Promise<void> {
  await client.query({ name: 'insert_inbound_mails', text: INSERT_MAILS, values: columnsOf(mails) });
  const shared = [...Map.groupBy(mails, (mail) => mail.rawKey)].filter(([, users]) => users.length > 1);
  await shareFiles(
    client,
    shared.map(([key, users]) => ({ key, accountId: users[0]?.accountId ?? 0, uses: users.length })),
  );
}

/** Bytes of the raw mail and the attachments of an account. */
export async function usedBytes(db: Queryable, accountId: number): Promise<number> {
  const { rows } = await db.query<{ bytes: number }>({
    name: 'inbox_bytes',
    text: 'select bytes from inbox_storage where account_id = $1',
    values: [accountId],
  });
  return rows[0]?.bytes ?? 0;
}
