/** SQL: parts of the statements that check a batch of queue rows with recipients and write its intent, see `batch.ts`. */
import { paidBySegmentSql } from '../../money/units.ts';
import { hasNoPriceSql } from '../../money/prices.ts';
import { unappliedOptOutsSql } from '../../consent/unapplied-opt-outs.ts';

/** CTEs: the rows that this process has claimed, and then the locks of their accounts. */
export const claimedSql = `alive as (
      select id from processes where id = $1 for key share
    ), claimed as materialized (
      select q.* from unnest($4::bigint[], $5::int[]) as b (message_id, epoch)
      cross join lateral (select * from send_queue s where s.message_id = b.message_id offset 0) q
      where q.claim_epoch = b.epoch and q.owner = (select id from alive)
    ), locked as materialized (
      select * from accounts_to_send(array(select distinct account_id from claimed))
    )`;

/** The message `m` of each claimed row `q`, and its account `a`. */
export const messagesSql = `claimed q cross join (select $8::boolean as plus_addresses) settings
      cross join lateral (
        select * from messages m where m.id = q.message_id and m.id between $6 and $7 offset 0) m
      join locked a on a.id = m.account_id`;

/** Columns of `checked` that the row and the account have, and the message's own content. */
export const rowColumns = `q.claim_epoch as epoch, q.queued_at, q.provider_id, q.domain_id,
        q.price_month is not null as priced, a.has_contacts, c.html, c.text, c.headers`;

/** The contact `k` of the message, the version `v` of its content, and its own content `c`. @param versionId SQL */
export const recipientSql = (versionId: string): string => `left join lateral (
        select * from contacts k where k.id = m.contact_id offset 0) k on true
      left join lateral (select * from template_versions v where v.id = ${versionId} offset 0) v on true
      left join lateral (
        select * from message_contents c
        where c.message_id = q.message_id and c.message_id between $6 and $7 offset 0) c on true`;

/**
 * CTE: opt-outs that contacts may not have yet, of the brands and channels of messages in `checked`. They are read once for
 * each, and after the locks, so that this sees what is committed then.
 * @param where SQL: which of the messages only contacts receive
 */
export const unappliedSql = (where: string): string => `unapplied as materialized (
      select u.brand_id, u.channel, ${unappliedOptOutsSql('u.brand_id', 'u.channel')} as hashes
      from (select distinct brand_id, channel from checked where ${where} offset 0) u
    )`;

/** The opt-outs of a message in `checked`; null: there are none. @param where as for {@link unappliedSql} */
export const unappliedOf = (where: string): string => `(
      select hashes from unapplied u
      where u.brand_id = checked.brand_id and u.channel = checked.channel and checked.${where}) as unapplied`;

/** What a text has reserved of its account's money. */
interface ReservedPrice {
  /** SQL: millicents; null: nothing. One that was charged before counts as paid. */
  millicents: string;
  /** SQL: whether its country had no price when the text was claimed. */
  none: string;
}

/**
 * SQL: a case of a text `m` of the account `a` to a country without a price. One that has reserved a price is sent at it.
 * One that was claimed without a price is not sent if there is one by now: it would cost nothing.
 */
export const noPriceCase = ({ millicents, none }: ReservedPrice): string => `
        when ${paidBySegmentSql('m.channel')} and ((${none}) or coalesce(${millicents}, 0) = 0 and ${hasNoPriceSql('a', 'm.to_key')})
          then 'no_price'`;

/** What the text of the queue row `q` has reserved. One that was charged before reserves no segments. */
export const reservedByRow: ReservedPrice = {
  millicents: 'case when q.price_month is not null and q.price_units = 0 then 1 else q.price_millicents end',
  none: 'q.price_month is not null and q.price_millicents is null',
};

/** CTE: the intent for those that may be handed over. */
export const intentSql = `intent as (
      insert into handovers (owner, seq, provider, message_ids, attempts, report_seconds)
      select $1, $2, $3, array_agg(id order by id), array_agg(attempt order by id), $9
      from checked where verdict = 'send' having count(*) > 0
    )`;

/** Columns of the result, of `checked`. */
export const messageColumns = `id as "messageId", attempt, epoch, uncertain, priced, verdict, has_contacts as "hasContacts",
      account_id as "accountId", brand_id as "brandId", domain_id as "domainId", channel, class,
      provider_id as "providerId", queued_at as "queuedAt", created_at as "createdAt", to_address as "to",
      from_address as "from", reply_to as "replyTo", subject, html, text, headers, tags, tracking,
      idempotency_key as "idempotencyKey", segments`;
