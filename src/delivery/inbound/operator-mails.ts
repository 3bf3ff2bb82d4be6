import type { Queryable } from '../../platform/db/queryable.ts';
import { clipText } from '../bounces.ts';
import { readFieldBlocks } from './fields.ts';
import type { OperatorMailbox } from './recipients.ts';

/** A mail that somebody wrote to the operator. */
export interface OperatorMail {
  id: number;
  mailbox: OperatorMailbox;
  sender: string;
  subject: string;
  receivedAt: Date;
}

const MAX_KEPT_BYTES = 64 * 1024;
/** Anyone may write to these mailboxes, so the oldest mails make room for new ones. */
const MAX_KEPT = 1_000;

/** Keeps the beginning of a mail for `carillon mail`. */
export async function keepOperatorMail(
  db: Queryable,
  { mailbox, head }: { mailbox: OperatorMailbox; head: Buffer },
): Promise<void> {
  const raw = head.subarray(0, MAX_KEPT_BYTES);
  const header = readFieldBlocks(raw.toString('utf8'), 1)[0];
  await db.query(
    `with surplus as (
       delete from operator_mails where id in (select id from operator_mails order by id desc offset $5)
     )
     insert into operator_mails (mailbox, sender, subject, raw) values ($1, $2, $3, $4)`,
    [mailbox, clipText(header?.get('from') ?? ''), clipText(header?.get('subject') ?? ''), raw, MAX_KEPT - 1],
  );
}

/** @returns the mails that are kept, the newest first */
export async function listOperatorMails(db: Queryable): Promise<OperatorMail[]> {
  const { rows } = await db.query<OperatorMail>(
    `select id, mailbox, sender, subject, received_at as "receivedAt" from operator_mails order by id desc`,
  );
  return rows;
}

/** @returns the message as it arrived, or null if it is not kept */
export async function readOperatorMail(db: Queryable, id: number): Promise<Buffer | null> {
  const { rows } = await db.query<{ raw: Buffer }>('select raw from operator_mails where id = $1', [id]);
  return rows[0]?.raw ?? null;
}
