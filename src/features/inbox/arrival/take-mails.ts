/** Takes mails out of the queue, for the transaction that writes them, and recognizes those that were delivered twice. */
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { ReadMail } from '../mail/mail.ts';
import type { ClaimedMail } from './accepted-mails.ts';

/** A mail that was claimed and read. */
export interface MailToWrite {
  claimed: ClaimedMail;
  read: ReadMail;
}

/** A mail that its inbox has received before. */
export interface Repetition {
  mail: MailToWrite;
  /** The mail that is kept: the id of a conversation message, or one of the same group. */
  of: number | MailToWrite;
}

/** The mails that may be written, and the others. */
export interface TakenMails {
  fresh: MailToWrite[];
  repetitions: Repetition[];
  /** Another process has claimed them meanwhile. */
  stale: MailToWrite[];
}

/** How long an inbox remembers what it has received. */
const REMEMBERED = `interval '30 days'`;

const DIGEST_BYTES = 32;
const ranks = { suspicious: 0, refuted: 1, unproven: 2, proven: 3 };

/**
 * How well a mail is authenticated. Anyone can make a copy of a mail that only says it comes from its sender, so a mail
 * repeats only one that is authenticated at least as well.
 */
function rankOf({ suspicion, authentication: { aligned, dmarc } }: ReadMail): number {
  if (suspicion !== null) return ranks.suspicious;
  if (aligned) return ranks.proven;
  return dmarc.result === 'fail' ? ranks.refuted : ranks.unproven;
}

/** The mark of a mail in `inbox_digests`, in hexadecimal: its digest and rank. Null: no other mail can repeat it. */
export function markOf(read: ReadMail): string | null {
  return read.digest && `${read.digest.toString('hex')}${Buffer.of(rankOf(read)).toString('hex')}`;
}

/**
 * Locks the messages that mails may repeat, so that none is deleted before the repetition is counted. A message that is
 * gone is not repeated: the mail would be nowhere.
 */
const takeSql = `
  with input as materialized (
    select i.id, i.attempts, i.inbox_id, decode(i.digest, 'hex') as digest
    from json_to_recordset($1) as i (id bigint, attempts smallint, inbox_id bigint, digest text)
  ), taken as (
    delete from inbound_mails m using input i where m.id = i.id and m.attempts = i.attempts
    returning m.id, i.inbox_id, i.digest
  ), earlier as materialized (
    select d.inbox_id, d.digest, m.id
    from (
      select distinct t.inbox_id, t.digest || set_byte('\\x00', 0, r.rank) as mark
      from taken t cross join generate_series(0, ${ranks.proven}) as r (rank)
    ) w
    join inbox_digests d on d.inbox_id = w.inbox_id and d.digest = w.mark
    join conversation_messages m on m.id = d.conversation_message_id
    where d.received_at >= now() - ${REMEMBERED}
    order by m.id for no key update of m
  )
  select t.id, array(
    select json_build_object('rank', get_byte(e.digest, ${DIGEST_BYTES}), 'of', e.id)
    from earlier e where e.inbox_id = t.inbox_id and substr(e.digest, 1, ${DIGEST_BYTES}) = t.digest) as earlier
  from taken t`;

/** A mail that others may repeat. */
interface Kept {
  rank: number;
  of: number | MailToWrite;
}

async function take(trx: Queryable, mails: readonly MailToWrite[]): Promise<Map<number, Kept[]>> {
  const input = mails.map(({ claimed: { id, attempts, inbox_id }, read }) => ({
    id,
    attempts,
    inbox_id,
    digest: read.digest?.toString('hex') ?? null,
  }));
  const { rows } = await trx.query<{ id: number; earlier: Kept[] }>({
    name: 'take_inbound_mails',
    text: takeSql,
    values: [JSON.stringify(input)],
  });
  return new Map(rows.map(({ id, earlier }) => [id, earlier]));
}

/** @returns of those that the mail may repeat, the one that is authenticated most like it */
function repeated(kept: readonly Kept[], rank: number): Kept | undefined {
  const possible = kept.filter((one) => one.rank >= rank);
  return possible.toSorted((one, other) => one.rank - other.rank)[0];
}

/**
 * @param trx has the locks of the inboxes
 * @param mails in the order in which they were accepted
 */
export async function takeMails(trx: Queryable, mails: readonly MailToWrite[]): Promise<TakenMails> {
  const earlier = await take(trx, mails);
  const taken: TakenMails = { fresh: [], repetitions: [], stale: [] };
  const seen = new Map<string, Kept[]>();
  for (const mail of mails) {
    const { claimed, read } = mail;
    const before = earlier.get(claimed.id);
    if (!before) {
      taken.stale.push(mail);
      continue;
    }
    const key = read.digest && `${claimed.inbox_id} ${read.digest.toString('hex')}`;
    const kept = (key === null ? undefined : seen.get(key)) ?? before;
    const rank = rankOf(read);
    const found = repeated(kept, rank);
    if (found) taken.repetitions.push({ mail, of: found.of });
    else {
      taken.fresh.push(mail);
      if (key !== null) seen.set(key, [...kept, { rank, of: mail }]);
    }
  }
  return taken;
}
