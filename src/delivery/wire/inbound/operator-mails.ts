import type { Queryable } from '../../../platform/db/queryable.ts';
import { clipText } from '../../terms/bounces.ts';
import { readFieldBlocks } from './fields.ts';
import type { ReferencedMessage } from '../../terms/addresses/reference.ts';
import type { OperatorMailbox } from './recipients.ts';

/** A mail to the operator, as listed. */
export interface OperatorMail {
  id: number;
  /** `return_path`: a mail to the return path of a message that was not understood. */
  mailbox: OperatorMailbox | 'return_path';
  /** Of this message. Null: it was sent to a mailbox. */
  accountId: number | null;
  messageId: number | null;
  sender: string;
  subject: string;
  receivedAt: Date;
}

const MAX_KEPT_BYTES = 64 * 1024;
/**
 * Maximum number of mails kept from one network. Anyone can write to these mailboxes, so a network that sends many
 * displaces only its own mails. Mail to return paths, which are many, displaces none to the mailboxes.
 */
const MAX_OF_NETWORK = 50;
/** Maximum number of mails kept in total, to mailboxes and to return paths. Beyond it, mails of the network with the most mails are removed. */
const MAX_KEPT = 5_000;

/** A mail as it arrives: to a mailbox, or to the return path of a message. */
export type NewOperatorMail = NewMail &
  ({ mailbox: OperatorMailbox; message?: never } | { mailbox: 'return_path'; message: ReferencedMessage });

interface NewMail {
  /** The network of the client that delivered it. */
  network: string;
  /** The beginning of the mail. */
  head: Buffer;
}

/** Stores the beginning of a mail for `carillon mail`. Housekeeping removes it when it is too old. */
export async function keepOperatorMail(
  db: Queryable,
  { mailbox, message, network, head }: NewOperatorMail,
): Promise<void> {
  const raw = head.subarray(0, MAX_KEPT_BYTES);
  const header = readFieldBlocks(raw.toString('utf8'), 1)[0];
  await db.query(
    `with alike as (
       select id, network from operator_mails where (mailbox = 'return_path') = ($1 = 'return_path')
     ), of_network as (
       select id from alike where network = $5 order by id desc offset $6
     ), largest as (
       select network from alike
       where (select count(*) from alike) >= $7 group by network order by count(*) desc limit 1
     ), of_largest as (
       select min(m.id) as id from alike m, largest l where m.network is not distinct from l.network
     ), surplus as (
       delete from operator_mails where id in (select id from of_network union select id from of_largest)
     )
     insert into operator_mails (mailbox, sender, subject, raw, network, account_id, message_id)
     values ($1, $2, $3, $4, $5, $8, $9)`,
    [
      mailbox,
      clipText(header?.get('from') ?? ''),
      clipText(header?.get('subject') ?? ''),
      raw,
      network,
      MAX_OF_NETWORK - 1,
      MAX_KEPT,
      message?.accountId ?? null,
      message?.messageId ?? null,
    ],
  );
}

/** @returns the stored mails, newest first */
export async function listOperatorMails(db: Queryable): Promise<OperatorMail[]> {
  const { rows } = await db.query<OperatorMail>(
    `select id, mailbox, account_id as "accountId", message_id as "messageId", sender, subject,
       received_at as "receivedAt"
     from operator_mails order by id desc`,
  );
  return rows;
}

/** @returns the message as it arrived, or null if it is not stored */
export async function readOperatorMail(db: Queryable, id: number): Promise<Buffer | null> {
  const { rows } = await db.query<{ raw: Buffer }>('select raw from operator_mails where id = $1', [id]);
  return rows[0]?.raw ?? null;
}
