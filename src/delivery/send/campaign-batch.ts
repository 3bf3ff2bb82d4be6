import type { Queryable } from '../../platform/db/queryable.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { campaignsToSendSql } from '../campaign-lock.ts';
import { limits, type Limits, verdictSql } from '../limits/authority.ts';
import { hasUnapplied, unappliedOptOutsSql } from '../unapplied-opt-outs.ts';
import type { BatchMessage, BatchRequest } from './batch.ts';
import type { BlockClaim } from './blocks.ts';

/** The most characters of one value of a contact. */
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

/** SQL: the values that the version `v` names of the contact `k`. */
const contactSql = `
      case when cardinality(v.paths) > 0 then (
        select jsonb_object_agg(n.path, n.value) from (
          select w.path, case jsonb_typeof(w.value)
            when 'string' then to_jsonb(left(w.value #>> '{}', ${MAX_VALUE}))
            when 'null' then null
            when 'object' then case when length(w.value::text) <= ${MAX_VALUE} then w.value end
            when 'array' then case when length(w.value::text) <= ${MAX_VALUE} then w.value end
            else w.value end as value
          from (select p.path, ${contactValueSql} as value from unnest(v.paths) as p (path)) w) n
        where n.value is not null) end`;

/** SQL: whether the contact `k` receives messages of the channel now. */
const subscribedSql = `(case m.channel when 'email' then k.email_subscribed else k.phone_subscribed end
        -- The statement may have begun before an opt-out was committed; see recipient-fence.ts.
        and (a.recipients_changed_at is null or a.recipients_changed_at <= now() - interval '10 seconds'
          or is_subscribed(k.id, m.channel)))`;

/**
 * SQL: what stops a campaign's message, before the limits are asked. Once the campaign has ended, only recipients leave
 * who were unknown: a client has had them sent once more. Others may be canceled, which the statement does not see.
 */
const campaignCases = (active: string) => `
        when q.campaign_id is not null and (${active}) is not true then 'campaign_stopped'
        -- The campaign is read after its lock, and may name content that is newer than the statement.
        when p.version_ids[coalesce(m.variant, 0) + 1] is not null and v.id is null then 'campaign_stopped'
        when m.contact_id is not null and k.id is null then 'contact_deleted'
        when q.campaign_id is not null and m.contact_id is null then 'contact_deleted'
        -- Whether the contact is subscribed says nothing about an address that it had when the recipients were written.
        when m.to_address is null or k.id is not null
          and m.to_key is distinct from case m.channel when 'email' then k.email_key else k.phone end then 'no_address'
        when k.id is not null and not ${subscribedSql} then 'unsubscribed'`;

interface Variant {
  /** SQL: the rows `q`: what the limits read of a queue row, with `campaign_id` and `block_epoch`. */
  claimed: string;
  /** SQL over the campaign `p`. */
  active: string;
  /** Whether a message without an outcome may have been handed over before. */
  uncertain: string;
  /** SQL over `m`: first attempts are made of queued messages only. */
  waiting: string;
  /** SQL: values of the columns of the intent that name the block. */
  block: string;
  table: Limits;
}

/** SQL: checks a batch of campaign messages and writes the intent. See `batch.ts`, whose parameters come first. */
const intendSql = ({ claimed, active, uncertain, waiting, block, table }: Variant): string => `
    with alive as (
      select id from processes where id = $1 for key share
    ), claimed as materialized (${claimed}
    ), locked as materialized (
      select * from accounts_to_send(array(select distinct account_id from claimed))
    ), campaign as materialized (
      -- Accounts are locked first.
      ${campaignsToSendSql(`array(
        select distinct campaign_id from claimed where campaign_id is not null and (select count(*) from locked) > 0)`)}
    ), checked as (
      select m.*, q.claim_epoch as epoch, m.attempt_count + 1 as attempt, q.queued_at, q.provider_id, q.domain_id,
        a.has_contacts, c.html, c.text, c.headers, p.name as campaign_name, v.id as version_id,
        case when ${waiting} then 'gone'${campaignCases(active)}
          else ${verdictSql(table)} end as verdict,
        ${uncertain} as uncertain, ${contactSql} as contact
      from claimed q cross join (select $8::boolean as plus_addresses) settings
      cross join lateral (
        select * from messages m where m.id = q.message_id and m.id between $6 and $7 offset 0) m
      join locked a on a.id = m.account_id
      left join campaign p on p.id = q.campaign_id
      left join lateral (select * from contacts k where k.id = m.contact_id offset 0) k on true
      -- The content of a campaign may have changed since its recipients were written.
      left join lateral (
        select * from template_versions v
        where v.id = coalesce(p.version_ids[coalesce(m.variant, 0) + 1], m.content_version_id) offset 0) v on true
      left join lateral (
        select * from message_contents c
        where c.message_id = q.message_id and c.message_id between $6 and $7 offset 0) c on true
    ), unapplied as materialized (
      -- Once for each campaign, and after the locks: it sees what is committed then.
      select u.id, ${unappliedOptOutsSql('u.brand_id', 'u.channel')} as hashes
      from (select c.id, c.brand_id, c.channel from campaigns c where c.id in (select id from campaign) offset 0) u
    ), intent as (
      insert into handovers (owner, seq, provider, message_ids, attempts, report_seconds, campaign_id, block_n, block_epoch)
      select $1, $2, $3, array_agg(id order by id), array_agg(attempt order by id), $9, ${block}
      from checked where verdict = 'send' having count(*) > 0
    )
    select id as "messageId", attempt, epoch, uncertain, verdict, has_contacts as "hasContacts",
      account_id as "accountId", brand_id as "brandId", domain_id as "domainId", channel, class,
      provider_id as "providerId", queued_at as "queuedAt", created_at as "createdAt", to_address as "to",
      from_address as "from", reply_to as "replyTo", subject, html, text, headers, tags, tracking,
      idempotency_key as "idempotencyKey", segments, coalesce(version_id, content_version_id) as "contentVersionId",
      case when campaign_id is not null then jsonb_build_object('id', campaign_id, 'name', coalesce(campaign_name, ''),
        'variant', coalesce(variant, 0), 'contactId', contact_id, 'contact', coalesce(contact, '{}'::jsonb)) end as campaign,
      (select hashes from unapplied u where u.id = campaign_id) as unapplied
    from checked order by id`;

const withoutContent = (table: Limits) => table.filter(({ name }) => name !== 'content_missing');

const blockSql = intendSql({
  claimed: `
      select i.message_id, b.*, now() as queued_at
      from campaign_blocks b cross join unnest($4::bigint[]) as i (message_id)
      where b.campaign_id = $5 and b.n = $10 and b.claim_epoch = $11 and b.owner = (select id from alive)
        and b.closed_at is null`,
  active: `p.status = 'active'`,
  uncertain: 'false',
  waiting: `m.status <> 'queued' or m.campaign_id is distinct from q.campaign_id`,
  block: '$5, $10, $11',
  table: withoutContent(limits),
});

/** SQL: an attempt at the message has no outcome that is known. */
const uncertainSql = `q.attempt_count > 0 and exists (
          select 1 from message_events e
          where e.message_id = m.id and e.message_id between $6 and $7 and e.type = 'unknown' offset 0)`;

const retriesSql = intendSql({
  claimed: `
      select q.* from unnest($4::bigint[], $5::int[]) as b (message_id, epoch)
      cross join lateral (select * from send_queue s where s.message_id = b.message_id offset 0) q
      where q.claim_epoch = b.epoch and q.owner = (select id from alive)`,
  active: `p.status = 'active' or p.phase = 'done' and ${uncertainSql}`,
  uncertain: uncertainSql,
  waiting: 'false',
  block: 'null, null, null',
  table: limits,
});

function valuesOf(
  { owner, seq, provider, claims, plusAddresses, reportSeconds }: BatchRequest,
  key: unknown,
) {
  const ids = claims.map(({ messageId }) => messageId);
  const bounds = [Math.min(...ids, Number.MAX_SAFE_INTEGER), Math.max(...ids, 0)];
  return [owner, seq, provider, ids, key, ...bounds, plusAddresses ?? false, reportSeconds ?? 0];
}

/** What checking the recipients of campaigns needs besides. */
export interface CampaignBatchRequest extends BatchRequest {
  keyring: Pick<Keyring, 'subkey' | 'accepted'>;
}

/** A message, and opt-outs of the brand that contacts may not have yet. */
type CheckedRow = BatchMessage & { unapplied: Buffer[] | null };

/**
 * Takes back messages to recipients whose opt-out is known by its HMAC alone. The intent names them, but they are not
 * handed over.
 */
function withoutOptedOut(
  rows: readonly CheckedRow[],
  { keyring, plusAddresses = false }: CampaignBatchRequest,
): BatchMessage[] {
  return rows.map(({ unapplied, ...message }) => {
    const { brandId, channel, to: address } = message;
    if (message.verdict !== 'send' || unapplied === null) return message;
    const recipient = { brandId, channel, address, plusAddresses: plusAddresses && channel === 'email' };
    return hasUnapplied(keyring, recipient, unapplied) ? { ...message, verdict: 'unsubscribed' } : message;
  });
}

/**
 * Checks first attempts at recipients of a block and writes the intent, as `intendBatch` does for queue rows. The block
 * is the fence: its owner and epoch must be those of the claim. Campaigns are read under shared locks that a pause waits
 * for, like accounts.
 * @returns the messages with their verdicts; none if the claim is no longer valid
 */
export async function intendBlock(
  client: Queryable,
  request: CampaignBatchRequest,
  { campaignId, n, epoch }: BlockClaim,
): Promise<BatchMessage[]> {
  const values = [...valuesOf(request, campaignId), n, epoch];
  const { rows } = await client.query<CheckedRow>({ name: 'intend_block', text: blockSql, values });
  return withoutOptedOut(rows, request);
}

/** Checks retries of campaign messages and writes the intent, as `intendBatch` does for other queue rows. */
export async function intendRetries(
  client: Queryable,
  request: CampaignBatchRequest,
): Promise<BatchMessage[]> {
  const epochs = request.claims.map(({ epoch }) => epoch);
  const values = valuesOf(request, epochs);
  const { rows } = await client.query<CheckedRow>({ name: 'intend_retries', text: retriesSql, values });
  return withoutOptedOut(rows, request);
}
