/** The queue of accepted mails. */
import type { Queryable } from '../../../platform/db/queryable.ts';

/** An accepted mail that this process is to read. Another process that claims it later has a higher `attempts`. */
export interface ClaimedMail {
  id: number;
  account_id: number;
  brand_id: number;
  inbox_id: number;
  raw_key: string;
  /** Bytes. */
  size: number;
  /** Empty for the null return path. */
  envelope_from: string;
  recipient: string;
  ip: string | null;
  helo: string | null;
  answers_message_id: number | null;
  /** A report that was not understood: it says nothing about a contact. */
  is_report: boolean;
  received_at: Date;
  /** How often it was claimed. */
  attempts: number;
}

/** How long a claim lasts: the mails of a process that dies wait so long. The process renews it while it has the mail. */
const LEASE = `interval '12 seconds'`;
/** Maximum number of accounts in one claim. The next claim continues with the others. */
const MAX_ACCOUNTS = 500;
/** How long a mail that could not be written waits, by the number of attempts. */
const PAUSES_SECONDS = [10, 60, 300, 1_800, 7_200];

/**
 * Takes mails of all accounts in turn: the oldest of each, then the second of each. So an account that has received a lot
 * takes no more than its share while others wait. `$1`: the accounts up to this id come later, `$2`: how many mails, `$3`:
 * how many mails of one account this process may have, `$4`: accounts, `$5`: how many mails it has of each.
 */
const claimSql = `
  with recursive accounts (account_id, place) as (
    (select account_id, 1 from inbound_mails where account_id > $1 order by account_id limit 1)
    union all
    select (select m.account_id from inbound_mails m where m.account_id > a.account_id order by m.account_id limit 1),
      a.place + 1
    from accounts a where a.account_id is not null and a.place <= ${MAX_ACCOUNTS}
  ), turns as (
    select a.account_id, d.id, row_number() over (partition by a.account_id order by d.due_at, d.id) as turn, d.due_at
    from accounts a cross join lateral (
      select m.id, m.due_at from inbound_mails m where m.account_id = a.account_id and m.due_at <= now()
      order by m.due_at, m.id limit $2) d
  ), wanted as (
    select t.id from turns t left join unnest($4::bigint[], $5::integer[]) as h (account_id, mails) using (account_id)
    where t.turn + coalesce(h.mails, 0) <= $3 order by t.turn, t.due_at, t.id limit $2
  ), chosen as materialized (
    select m.id from inbound_mails m
    where m.id = any(array(select id from wanted)) and m.due_at <= now()
    for update skip locked
  ), claimed as (
    update inbound_mails m set due_at = now() + ${LEASE}, attempts = m.attempts + 1, report_claims = m.report_claims + 1
    from chosen c where m.id = c.id
    returning m.id, m.account_id, m.brand_id, m.inbox_id, m.raw_key, m.size, m.envelope_from, m.recipient, m.ip, m.helo,
      m.answers_message_id, m.report_claims is not null as is_report, m.received_at, m.attempts
  )
  select c.*, (select max(account_id) from accounts where place > ${MAX_ACCOUNTS}) as next_after
  from (select 1) always left join claimed c on true order by c.id`;

/** Claims mails for this process, fairly between accounts. */
export class MailClaims {
  /** The accounts up to this id have had their turn. */
  #after = 0;

  /**
   * @param held number of mails that this process has already, by account
   * @param maxOfAccount maximum number of mails of one account, with those that it has
   * @returns up to `max` mails, in the order of their ids
   */
  async claim(
    db: Queryable,
    max: number,
    held: ReadonlyMap<number, number> = new Map(),
    maxOfAccount = max,
  ): Promise<ClaimedMail[]> {
    const { rows } = await db.query<ClaimedMail & { id: number | null; next_after: number | null }>({
      name: 'claim_inbound_mails',
      text: claimSql,
      values: [this.#after, max, maxOfAccount, [...held.keys()], [...held.values()]],
    });
    this.#after = rows[0]?.next_after ?? 0;
    return rows.filter((row) => (row.id as number | null) !== null);
  }
}

const idsOf = (mails: readonly ClaimedMail[]) => mails.map(({ id }) => id);
const attemptsOf = (mails: readonly ClaimedMail[]) => mails.map(({ attempts }) => attempts);

/** Renews the claims of mails that this process still has. */
export async function renewClaims(db: Queryable, mails: readonly ClaimedMail[]): Promise<void> {
  await db.query(
    `update inbound_mails m set due_at = now() + ${LEASE}
     from unnest($1::bigint[], $2::smallint[]) as c (id, attempts) where m.id = c.id and m.attempts = c.attempts`,
    [idsOf(mails), attemptsOf(mails)],
  );
}

/** Gives back mails that were not tried, so that any process can claim them at once. */
export async function giveBack(db: Queryable, mails: readonly ClaimedMail[]): Promise<void> {
  if (mails.length === 0) return;
  await db.query(
    `update inbound_mails m set due_at = now(), attempts = m.attempts - 1
     from unnest($1::bigint[], $2::smallint[]) as c (id, attempts) where m.id = c.id and m.attempts = c.attempts`,
    [idsOf(mails), attemptsOf(mails)],
  );
}

/** Lets a mail that could not be written wait: for 10 seconds at first, and for 2 hours at most. */
export async function postpone(db: Queryable, mail: ClaimedMail): Promise<void> {
  const seconds = PAUSES_SECONDS[mail.attempts - 1] ?? PAUSES_SECONDS.at(-1);
  await db.query(
    `update inbound_mails set due_at = now() + make_interval(secs => $3) where id = $1 and attempts = $2`,
    [mail.id, mail.attempts, seconds],
  );
}

/**
 * Lets a mail wait because the storage or the database is unavailable: for half of its age, but for 10 seconds at least
 * and 10 minutes at most. This does not count as an attempt.
 */
export async function postponeUntried(db: Queryable, mail: ClaimedMail): Promise<void> {
  await db.query(
    `update inbound_mails set attempts = attempts - 1, due_at = now() +
       least(greatest((now() - received_at) / 2, interval '10 seconds'), interval '10 minutes')
     where id = $1 and attempts = $2`,
    [mail.id, mail.attempts],
  );
}
