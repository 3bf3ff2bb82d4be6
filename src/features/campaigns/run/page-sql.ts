import { MAX_BLOCK } from '../../../delivery/ledger/blocks/campaign-blocks.ts';
import { type Channel, channelFacts } from '../../../delivery/terms/channels/index.ts';
import { type FrequencyCap, reachedCapSql } from '../../../delivery/ledger/limits/frequency-cap.ts';
import { messageClasses } from '../../../delivery/terms/message.ts';
import { suppressedSql } from '../../../delivery/ledger/consent/suppressions.ts';
import { MESSAGE_ID_SEQUENCE } from '../../../delivery/ledger/accept/write-messages.ts';
import { variantSql } from './variants.ts';

/** The properties of a campaign on which the statement depends, so that it contains only what it needs. */
export interface PageShape {
  channel: Channel;
  /** Whether the campaign already has recipients, whose addresses must not get it twice. */
  hasEarlier: boolean;
  plusAddresses: boolean;
  /** The frequency cap of the brand; null if it has none. */
  frequencyCap: FrequencyCap | null;
  localTime: boolean;
  ab: boolean;
  /** The number of the first parameter after those of the contacts. */
  firstParameter: number;
}

/** The parameters that follow those of the contacts, in order. */
export const pageParameters = [
  'campaignId',
  'accountId',
  'dueAt',
  'blockSize',
  'nextBlock',
  'number',
  'firstMessageId',
  'ends',
  'times',
] as const;

type Parameters = Record<(typeof pageParameters)[number], string>;

/**
 * SQL: why a contact is skipped; null if it is not. A subquery with `limit` is always an index look-up per contact;
 * with a join, PostgreSQL might read all recipients of the campaign.
 */
function skipSql(shape: PageShape, { campaignId, accountId, firstMessageId }: Parameters): string {
  const suppressed = suppressedSql({
    account: `${accountId}::bigint`,
    key: 'f.key',
    byKey: true,
    ...(shape.plusAddresses ? { plusAddresses: 'true' } : {}),
  });
  const earlier = `when (
      select true from messages m
      where m.brand_id = $1 and m.to_key = f.key and m.id >= ${firstMessageId}::bigint
        and m.campaign_id = ${campaignId}::bigint limit 1)
      then 'duplicate_address'
    when exists (select 1 from campaign_removed_recipients r where r.campaign_id = ${campaignId}::bigint) and (
      select true from campaign_removed_recipients r
      where r.campaign_id = ${campaignId}::bigint
        and r.address_hash = removed_recipient_hash(${campaignId}::bigint, f.key) limit 1)
      then 'duplicate_address'`;
  return `case when f.key is null then 'no_address'
    ${shape.hasEarlier ? earlier : ''}
    when not f.subscribed then 'unsubscribed'
    when ${suppressed} then 'suppressed'
    ${cappedSql(shape)} end`;
}

/** SQL: the `when` clause for contacts that have reached the frequency cap. */
function cappedSql({ frequencyCap: cap }: PageShape): string {
  if (!cap) return '';
  const [count, perSeconds] = [cap.count, cap.per_seconds].map((value) => String(Math.trunc(value)));
  const query = { brandId: '$1', keys: 'f.email_key, f.phone', asOf: 'now()' };
  return `when ${reachedCapSql({ ...query, count: count ?? '', perSeconds: perSeconds ?? '' })} then 'frequency_cap'`;
}

/** SQL: the local time at which a campaign is due for the contact `f`. */
function localSql({ localTime }: PageShape, { times }: Parameters): string {
  if (!localTime) return 'null::timestamptz';
  return `coalesce((select z.due from zones z where z.name = lower(f.timezone)),
      (select k.due from countries k where k.code = f.country), (${times}::jsonb ->> 'otherwise')::timestamptz)`;
}

/** SQL: the local times as `zones` and `countries`, which are empty without local times. */
function timesCtes({ times }: Parameters): string {
  const arrayOf = (path: string) => `jsonb_array_elements_text(${times}::jsonb #> '${path}')`;
  return `zones as materialized (
    select name, due::timestamptz as due
    from rows from (${arrayOf('{zones,names}')}, ${arrayOf('{zones,dues}')}) as z (name, due)
  ), countries as materialized (
    select code, due::timestamptz as due
    from rows from (${arrayOf('{countries,codes}')}, ${arrayOf('{countries,dues}')}) as k (code, due)
  )`;
}

/**
 * SQL: the expressions up to `numbered`, which has the recipients with the reason for skipping them, the time at which
 * they are due, their variant, the part of their group that becomes a block, and the id of their message.
 */
function recipientCtes(contacts: string, shape: PageShape, at: Parameters): string {
  const now = `${at.dueAt}::timestamptz`;
  const { kind, key } = channelFacts[shape.channel].contact;
  const columns = `c.${kind} as address, c.${key} as key, c.${kind}_subscribed as subscribed`;
  const place = shape.localTime
    ? `c.data ->> 'timezone' as timezone, c.country_code as country`
    : 'null as timezone, null as country';
  const variant = shape.ab
    ? variantSql(`${at.number}::bigint + row_number() over (order by j.id) - 1`, at.ends)
    : '0::smallint';
  return `found as materialized (
    select c.id, ${columns}, ${place}${shape.frequencyCap ? ', c.email_key, c.phone' : ''} from contacts c where c.brand_id = $1 and ${contacts}
  ), judged as (
    select f.id, f.address, f.key, ${skipSql(shape, at)} as skip, ${localSql(shape, at)} as local from found f
  ), divided as (
    select j.*, ${variant} as variant from judged j
  ), timed as (
    select d.id, d.address, d.key, d.skip, case when d.skip is null then d.local end as local,
      case when d.skip is null then d.variant end as variant,
      case when d.skip is not null then ${now} when d.variant is null then 'infinity'::timestamptz
        else greatest(d.local, ${now}) end as due
    from divided d
  ), grouped as (
    select t.*, (row_number() over (partition by skip is not null, due, local, variant order by id) - 1)
      / case when skip is null then ${at.blockSize}::int else ${MAX_BLOCK} end as part
    from timed t
  ), numbered as materialized (
    select g.*, nextval('${MESSAGE_ID_SEQUENCE}') as message_id
    from (select * from grouped order by skip is not null, due, local, part, variant, id) g
  )`;
}

/** SQL: inserts the messages and the blocks of `numbered`. */
function insertCtes({ campaignId, nextBlock }: Parameters): string {
  return `written as (
    insert into messages (id, account_id, brand_id, channel, class, status, to_address, to_key, from_address, reply_to,
      template_id, contact_id, campaign_id, content_version_id, variant, tracking, failure)
    select n.message_id, c.account_id, c.brand_id, c.channel, ${messageClasses.campaign},
      case when n.skip is null then 'queued' else 'skipped' end, n.address, n.key, c.from_address, c.reply_to,
      c.template_id, n.id, c.id, c.version_ids[n.variant + 1], n.variant, c.tracking,
      case when n.skip is not null then jsonb_build_object('code', n.skip, 'message', ${messageOf('n.skip')}) end
    from numbered n, campaigns c where c.id = ${campaignId}::bigint
  ), blocks as (
    insert into campaign_blocks (campaign_id, n, account_id, channel, provider_id, domain_id, first_id, last_id, size,
      variant, due_at, not_before, closed_at, recount, skipped)
    select c.id, ${nextBlock}::int + row_number() over (order by b.first_id) - 1, c.account_id, c.channel,
      coalesce(c.provider_id, 0), c.domain_id, b.first_id, b.last_id, b.size, coalesce(b.variant, 0), b.due, b.local,
      case when b.skipped then now() end, not b.skipped, case when b.skipped then b.size else 0 end
    from (
      select skip is not null as skipped, due, local, variant, part, min(message_id) as first_id,
        max(message_id) as last_id, count(*) as size
      from numbered group by 1, 2, 3, 4, 5
    ) b, campaigns c where c.id = ${campaignId}::bigint
    returning n
  )`;
}

/**
 * SQL: inserts a page of recipients and their blocks, and returns the number of each. Recipients are grouped by due
 * time and variant, in the order of their contacts; skipped ones get closed blocks of their own. Message ids ascend
 * over the page, so a block contains the campaign's messages from its first id to its last.
 *
 * Addresses are unique in a brand, so one statement never sees the same address twice.
 * @param contacts SQL: the condition over contacts `c` of the brand `$1`
 */
export function pageSql(contacts: string, shape: PageShape): string {
  const at = Object.fromEntries(
    pageParameters.map((name, index) => [name, `$${shape.firstParameter + index}`]),
  ) as Parameters;
  // PostgreSQL must know the type of every parameter, including those that this campaign does not need.
  const unread = `${at.firstMessageId}::bigint, ${at.number}::bigint, ${at.ends}::float8[], ${at.accountId}::bigint`;
  return `
  with ${timesCtes(at)}, ${recipientCtes(contacts, shape, at)}, ${insertCtes(at)}
  select (select count(*) from numbered) as recipients, (select count(*) from blocks) as blocks, ${unread}`;
}

const messages: Readonly<Record<string, string>> = {
  no_address: 'the contact has no address of this channel',
  unsubscribed: 'the contact is unsubscribed',
  suppressed: 'the address is suppressed',
  duplicate_address: 'the campaign has this address already',
  frequency_cap: 'the contact has received enough messages',
};

function messageOf(code: string): string {
  const cases = Object.entries(messages).map(([name, message]) => `when '${name}' then '${message}'`);
  return `case ${code} ${cases.join(' ')} end`;
}
