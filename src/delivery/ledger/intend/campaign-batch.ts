import { byChannelSql, channelFacts } from '../../terms/channels/index.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { defineStatement } from '../../../platform/db/statements.ts';
import type { Keyring } from '../../../platform/secrets/keyring.ts';
import { campaignsToSendSql } from '../ownership/campaign-lock.ts';
import { verdictSql } from '../limits/authority.ts';
import { hasUnapplied } from '../consent/unapplied-opt-outs.ts';
import { type BatchMessage, type BatchRequest, intentParameters } from './batch.ts';
import {
  claimedSql,
  intentSql,
  messageColumns,
  messagesSql,
  noPriceCase,
  recipientSql,
  reservedByRow,
  rowColumns,
  unappliedOf,
  unappliedSql,
} from './checked-sql.ts';

/** Maximum number of characters of one value of a contact. */
export const MAX_VALUE = 2_048;

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

/** SQL: the values of the contact `k` that the version `v` names. */
export const contactSql = contactValuesSql('v.paths');

/** SQL: whether the contact `k` receives messages of the channel now. */
const subscribedSql = `(${byChannelSql('m.channel', ({ contact }) => `k.${contact.kind}_subscribed`)}
        -- The statement may have begun before an opt-out was committed; see recipient-fence.ts.
        and (a.recipients_changed_at is null or a.recipients_changed_at <= now() - interval '10 seconds'
          or is_subscribed(k.id, m.channel)))`;

/**
 * SQL: cases in which the contact `k` must not get the message `m`.
 * @param withContact SQL: whether only contacts receive messages of this kind
 */
export const recipientCases = (withContact: string): string => `
        when m.contact_id is not null and k.id is null then 'contact_deleted'
        when ${withContact} and m.contact_id is null then 'contact_deleted'
        -- Whether the contact is subscribed says nothing about an address that it had when the message was written.
        when m.to_address is null or k.id is not null
          and m.to_key is distinct from ${byChannelSql('m.channel', ({ contact }) => `k.${contact.key}`)} then 'no_address'
        when k.id is not null and not ${subscribedSql} then 'unsubscribed'`;

/**
 * SQL: cases that stop a campaign's message, checked before the limits. Once the campaign has ended, only `unknown`
 * recipients are sent to, because a client has requested a resend. Others may have been canceled, which the statement
 * does not see.
 */
export const campaignCases = (active: string) => `
        when q.campaign_id is not null and (${active}) is not true then 'campaign_stopped'
        -- The campaign is read after its lock, and may name content that is newer than the statement.
        when p.version_ids[coalesce(m.variant, 0) + 1] is not null and v.id is null then 'campaign_stopped'${recipientCases('q.campaign_id is not null')}`;

/** SQL: whether an earlier attempt at the message has no known outcome. */
export const uncertainSql = `q.attempt_count > 0 and exists (
          select 1 from message_events e
          where e.message_id = m.id and e.message_id between $6 and $7 and e.type = 'unknown' offset 0)`;

/** SQL: checks a batch of retries and writes the intent. Its first parameters are those of `batch.ts`. */
const retriesSql = `
    with ${claimedSql}, campaign as materialized (
      -- Accounts are locked first.
      ${campaignsToSendSql(`array(
        select distinct campaign_id from claimed where campaign_id is not null and (select count(*) from locked) > 0)`)}
    ), checked as materialized (
      select m.*, ${rowColumns}, m.attempt_count + 1 as attempt, p.name as campaign_name, v.id as version_id,
        case${campaignCases(`p.status = 'active' or p.phase = 'done' and ${uncertainSql}`)}${noPriceCase(reservedByRow)}
          else ${verdictSql()} end as verdict,
        ${uncertainSql} as uncertain, ${contactSql} as contact
      from ${messagesSql}
      left join campaign p on p.id = q.campaign_id
      -- The content of a campaign may have changed since its recipients were written.
      ${recipientSql('coalesce(p.version_ids[coalesce(m.variant, 0) + 1], m.content_version_id)')}
    ), ${unappliedSql('campaign_id is not null')}, ${intentSql}
    select ${messageColumns}, coalesce(version_id, content_version_id) as "contentVersionId",
      case when campaign_id is not null then jsonb_build_object('id', campaign_id, 'name', coalesce(campaign_name, ''),
        'variant', coalesce(variant, 0), 'contactId', contact_id, 'contact', coalesce(contact, '{}'::jsonb)) end as campaign,
      ${unappliedOf('campaign_id is not null')}
    from checked order by id`;

export const retryIntentStatement = defineStatement({
  from: import.meta.url,
  sentBy: 'intendRetries',
  does: 'Checks a batch of retries of campaigns and writes the intent for those that may leave.',
  parameters: intentParameters,
  shapes: { intend_retries: {} },
  version: 3,
  compose: () => retriesSql,
});

/** The values of the statements' first nine parameters. */
export function valuesOf(
  { owner, seq, provider, claims, plusAddresses, reportSeconds }: BatchRequest,
  key: unknown,
) {
  const ids = claims.map(({ messageId }) => messageId);
  const bounds = [Math.min(...ids, Number.MAX_SAFE_INTEGER), Math.max(...ids, 0)];
  return [owner, seq, provider, ids, key, ...bounds, plusAddresses ?? false, reportSeconds ?? 0];
}

/** Checking the recipients of campaigns and flows also needs the keys of opt-outs. */
export interface CampaignBatchRequest extends BatchRequest {
  keyring: Pick<Keyring, 'subkey' | 'accepted'>;
}

/** A message, with the opt-outs of its brand that may not be applied to contacts yet. */
export type CheckedRow = BatchMessage & { unapplied: Buffer[] | null };

/**
 * Refuses messages to recipients whose opt-out is known only by its HMAC. The intent includes them, but they are not
 * handed over.
 */
export function withoutOptedOut(
  rows: readonly CheckedRow[],
  { keyring, plusAddresses = false }: CampaignBatchRequest,
): BatchMessage[] {
  return rows.map(({ unapplied, ...message }) => {
    const { brandId, channel, to: address } = message;
    if (message.verdict !== 'send' || unapplied === null) return message;
    const recipient = {
      brandId,
      channel,
      address,
      plusAddresses: plusAddresses && channelFacts[channel].address.hasTags,
    };
    return hasUnapplied(keyring, recipient, unapplied) ? { ...message, verdict: 'unsubscribed' } : message;
  });
}

/** Checks retries of campaign messages and writes the intent, as `intendBatch` does for other queue rows. */
export async function intendRetries(
  client: Queryable,
  request: CampaignBatchRequest,
): Promise<BatchMessage[]> {
  const epochs = request.claims.map(({ epoch }) => epoch);
  const values = valuesOf(request, epochs);
  const { rows } = await client.query<CheckedRow>({
    ...retryIntentStatement.prepared('intend_retries'),
    values,
  });
  return withoutOptedOut(rows, request);
}
