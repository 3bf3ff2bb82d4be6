/** Takes mails out of the queue, for the transaction that writes them, and recognizes those that were delivered twice. */
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { ReadMail } from '../mail/mail.ts';
import type { ClaimedMail } from './accepted-mails.ts';

/** A mail that was claimed and read. */
export interface MailToWrite {
  claimed: ClaimedMail;
  read: ReadMail;
}

/** The mails that may be written, and the others. */
export interface TakenMails {
  fresh: MailToWrite[];
  /** The inbox has received them before. */
  duplicates: MailToWrite[];
  /** Another process has claimed them meanwhile. */
  stale: MailToWrite[];
}

/** How long an inbox remembers what it has received. */
const REMEMBERED = `interval '30 days'`;

/** A suspicious copy, which anyone can make of a mail, must not take the place of the mail itself. */
const markOf = ({ digest, suspicion }: ReadMail): string =>
  `${digest.toString('hex')}${suspicion === null ? '' : '00'}`;

const takeSql = `
  with input as materialized (
    select i.id, i.attempts, i.inbox_id, decode(i.digest, 'hex') as digest
    from json_to_recordset($1) as i (id bigint, attempts smallint, inbox_id bigint, digest text)
  ), taken as (
    delete from inbound_mails m using input i where m.id = i.id and m.attempts = i.attempts
    returning m.id, i.inbox_id, i.digest
  ), noted as (
    insert into inbox_digests as d (inbox_id, digest)
    select distinct inbox_id, digest from taken order by inbox_id, digest
    on conflict (inbox_id, digest) do update set received_at = excluded.received_at
      where d.received_at < now() - ${REMEMBERED}
    returning inbox_id, digest
  )
  select t.id, n.digest is not null as fresh
  from taken t left join noted n on n.inbox_id = t.inbox_id and n.digest = t.digest`;

/**
 * @param trx has the locks of the inboxes
 * @param mails in the order in which they were accepted
 */
export async function takeMails(trx: Queryable, mails: readonly MailToWrite[]): Promise<TakenMails> {
  const input = mails.map(({ claimed: { id, attempts, inbox_id }, read }) => ({
    id,
    attempts,
    inbox_id,
    digest: markOf(read),
  }));
  const { rows } = await trx.query<{ id: number; fresh: boolean }>({
    name: 'take_inbound_mails',
    text: takeSql,
    values: [JSON.stringify(input)],
  });
  const freshness = new Map(rows.map(({ id, fresh }) => [id, fresh]));
  const taken: TakenMails = { fresh: [], duplicates: [], stale: [] };
  const seen = new Set<string>();
  for (const [index, mail] of mails.entries()) {
    const isFresh = freshness.get(mail.claimed.id);
    const mark = `${mail.claimed.inbox_id} ${input[index]?.digest}`;
    if (isFresh === undefined) taken.stale.push(mail);
    // The first of two equal mails in a group is the one that is kept.
    else if (isFresh && !seen.has(mark)) taken.fresh.push(mail);
    else taken.duplicates.push(mail);
    if (isFresh !== undefined) seen.add(mark);
  }
  return taken;
}
