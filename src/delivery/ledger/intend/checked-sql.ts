/** SQL: parts of the statements that check a batch of queue rows with recipients and write its intent, see `batch.ts`. */
import { paidBySegmentSql } from '../../terms/units.ts';
import { hasNoPriceSql } from '../money/prices.ts';
import { unappliedOptOutsSql } from '../consent/unapplied-opt-outs.ts';

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

/** Columns of `checked` that come from the queue row and the account, and the message's stored content. */
export const rowColumns = `q.claim_epoch as epoch, q.queued_at, q.provider_id, q.domain_id,
        q.price_month is not null as priced, a.has_contacts, c.html, c.text, c.headers`;

/** The contact `k` of the message, the version `v` of its content, and its stored content `c`. @param versionId SQL */
export const recipientSql = (versionId: string): string => `left join lateral (
        select * from contacts k where k.id = m.contact_id offset 0) k on true
      left join lateral (select * from template_versions v where v.id = ${versionId} offset 0) v on true
      left join lateral (
        select * from message_contents c
        where c.message_id = q.message_id and c.message_id between $6 and $7 offset 0) c on true`;

/**
 * CTE: opt-outs that may not be applied to contacts yet, of the brands and channels of messages in `checked`. They are
 * read once for each, and after the locks, so that committed ones are seen.
 * @param where SQL: for which messages, namely those that only contacts receive
 */
export const unappliedSql = (where: string): string => `unapplied as materialized (
      select u.brand_id, u.channel, ${unappliedOptOutsSql('u.brand_id', 'u.channel')} as hashes
      from (select distinct brand_id, channel from checked where ${where} offset 0) u
    )`;

/** The unapplied opt-outs for a message in `checked`; null: none. @param where as for {@link unappliedSql} */
export const unappliedOf = (where: string): string => `(
      select hashes from unapplied u
      where u.brand_id = checked.brand_id and u.channel = checked.channel and checked.${where}) as unapplied`;

/** The money that a text has reserved. */
interface ReservedPrice {
  /** SQL: millicents; null: nothing. A text that was charged before counts as paid. */
  millicents: string;
  /** SQL: whether its country had no price when the text was claimed. */
  none: string;
}

/**
 * SQL: the case of a text `m` of the account `a` to a country without a price. A text that has reserved a price is sent
 * at that price. A text that was claimed without a price is not sent even if a price has been set since: it would cost
 * nothing.
 */
export const noPriceCase = ({ millicents, none }: ReservedPrice): string => `
        when ${paidBySegmentSql('m.channel')} and ((${none}) or coalesce(${millicents}, 0) = 0 and ${hasNoPriceSql('a', 'm.to_key')})
          then 'no_price'`;

/** The money that the text of the queue row `q` has reserved. A text that was charged before reserves no segments. */
export const reservedByRow: ReservedPrice = {
  millicents: 'case when q.price_month is not null and q.price_units = 0 then 1 else q.price_millicents end',
  none: 'q.price_month is not null and q.price_millicents is null',
};

/** CTE: writes the intent for the messages that may be handed over. */
export const intentSql = `intent as (
      insert into handovers (owner, seq, provider, message_ids, attempts, report_seconds)
      select $1, $2, $3, array_agg(id order by id), array_agg(attempt order by id), $9
      from checked where verdict = 'send' having count(*) > 0
    )`;

/** Columns of the result, from `checked`. */
export const messageColumns = `id as "messageId", attempt, epoch, uncertain, priced, verdict, has_contacts as "hasContacts",
      account_id as "accountId", brand_id as "brandId", domain_id as "domainId", channel, class,
      provider_id as "providerId", queued_at as "queuedAt", created_at as "createdAt", to_address as "to",
      from_address as "from", reply_to as "replyTo", subject, html, text, headers, tags, tracking,
      idempotency_key as "idempotencyKey", segments`;
