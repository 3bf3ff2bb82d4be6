/**
 * SQL of the statements that check messages of campaigns and flows: what they decide by the recipient, and what they
 * read of the contact. It fills regions of the `.sql` files beside this one.
 */
import { byChannelSql } from '../../terms/channels/index.ts';
import { paidBySegmentSql } from '../../terms/units.ts';
import { hasNoPriceSql } from '../money/prices.ts';

/** Maximum number of characters of one value of a contact. */
const MAX_VALUE = 2_048;

/** Columns of a contact that a version may name. */
const contactColumns = [
  'id',
  'first_name',
  'last_name',
  'email',
  'phone',
  'country_code',
  'source',
  'created_at',
] as const;

/** SQL: the value of the contact `k` at the path `p.path`, as jsonb. */
const contactValueSql = `case ${contactColumns
  .map((name) => `when p.path = '${name}' then to_jsonb(k.${name})`)
  .join('\n            ')}
            when starts_with(p.path, 'data.') then k.data #> string_to_array(substr(p.path, 6), '.') end`;

/**
 * SQL: the values of the contact `k` by path; null: no paths. Without `offset 0`, each use of `w.value` would look the
 * value up again.
 * @param paths SQL: an array
 */
export const contactValuesSql = (paths: string): string => `
      case when cardinality(${paths}) > 0 then (
        select jsonb_object_agg(n.path, n.value) from (
          select w.path, case jsonb_typeof(w.value)
            when 'string' then to_jsonb(left(w.value #>> '{}', ${MAX_VALUE}))
            when 'null' then null
            when 'object' then case when length(w.value::text) <= ${MAX_VALUE} then w.value end
            when 'array' then case when length(w.value::text) <= ${MAX_VALUE} then w.value end
            else w.value end as value
          from (select p.path, ${contactValueSql} as value from unnest(${paths}) as p (path) offset 0) w) n
        where n.value is not null) end`;

/** SQL: whether the contact `k` receives messages of the channel now. */
const subscribedSql = `(${byChannelSql('m.channel', ({ contact }) => `k.${contact.kind}_subscribed`)}
        -- The statement may have begun before an opt-out was committed; see recipient-fence.ts.
        and (a.recipients_changed_at is null or a.recipients_changed_at <= now() - interval '10 seconds'
          or is_subscribed(k.id, m.channel)))`;

/** SQL: cases in which the contact `k` must not get the message `m`. */
export const recipientCases = `
        when m.contact_id is not null and k.id is null then 'contact_deleted'
        -- Whether the contact is subscribed says nothing about an address that it had when the message was written.
        when m.to_address is null or k.id is not null
          and m.to_key is distinct from ${byChannelSql('m.channel', ({ contact }) => `k.${contact.key}`)} then 'no_address'
        when k.id is not null and not ${subscribedSql} then 'unsubscribed'`;

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
const noPriceCase = ({ millicents, none }: ReservedPrice): string => `
        when ${paidBySegmentSql('m.channel')} and ((${none}) or coalesce(${millicents}, 0) = 0 and ${hasNoPriceSql('a', 'm.to_key')})
          then 'no_price'`;

/** As {@link noPriceCase}, for the queue row `q`. A text that was charged before reserves no segments. */
export const noPriceInQueueCase = noPriceCase({
  millicents: 'case when q.price_month is not null and q.price_units = 0 then 1 else q.price_millicents end',
  none: 'q.price_month is not null and q.price_millicents is null',
});

/** As {@link noPriceCase}, for a message of the block `q`. */
export const noPriceInBlockCase = noPriceCase({
  millicents: '(q.price_list -> m.id::text ->> 0)::bigint',
  none: `q.price_list -> m.id::text -> 0 = 'null'::jsonb`,
});

/** Maximum number of characters of an event, as JSON. Clients send at most 32 KB of data. */
const MAX_EVENT = 65_536;

/**
 * SQL: what contents read as `event` in messages of a flow run `r`: the event that started the run. Null if there is
 * none or it is too large.
 */
export const eventSql = `case when length(r.event::text) <= ${MAX_EVENT}
          then r.event - 'id' - 'name' - 'mail' || jsonb_build_object('event', r.event -> 'name') end`;
