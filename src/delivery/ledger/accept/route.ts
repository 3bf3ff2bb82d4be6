/** How a message is routed and tracked, as SQL over the message `i` and its account `a`. */
import { byChannelSql, isChannelSql } from '../../terms/channels/index.ts';
import { DEFAULT_PROVIDER } from '../../terms/backlog.ts';

/** What the links of new tracked messages are made with. It is stored with each message. */
export interface TrackingDefaults {
  /** PUBLIC_URL; null: mail is tracked only if its domain has a tracking host of its own. */
  publicUrl: string | null;
  /** The id of the key that signs links. */
  keyId: string;
}

/** SQL: the providers of the account, in their order. */
const providersSql = byChannelSql('i.channel', ({ account }) => `a.${account.providers}`);

/** SQL: the provider that sends the message. If the account's first provider fails, it is another of the account. */
export const routeSql = `
  case when ${providersSql} is null then coalesce(i.provider_id, ${DEFAULT_PROVIDER})
    else choose_provider(i.channel, i.provider_id, ${providersSql}) end`;

/**
 * SQL: the provider of a message that is to be sent later. An outage of the present does not matter: if there is one then,
 * the message moves to another provider.
 */
export const scheduledRouteSql = `
  case when ${providersSql} is null then coalesce(i.provider_id, ${DEFAULT_PROVIDER})
    else coalesce((
      select c.id from unnest(i.provider_id || ${providersSql}) with ordinality as c (id, n)
      where c.id = ${DEFAULT_PROVIDER} or exists (
        select from providers p where p.id = c.id and p.channel = i.channel and p.removed_at is null)
      order by c.n limit 1), ${DEFAULT_PROVIDER}) end`;

/** SQL: the address for replies that the account has set. */
export const replyToSql = byChannelSql(
  'i.channel',
  ({ account }) => account.replyTo && `a.${account.replyTo}`,
);

/**
 * SQL: how a message is tracked. Tracking must be on for the brand and the message, and requires HTML and a host for
 * the links. Clicks in mail from an address of the service are not tracked, because anyone could create redirects under
 * the service's name.
 * @param links a parameter with the {@link TrackingDefaults}; null: no message is tracked
 * @param hasHtml SQL
 */
export function trackedSql(links: string, hasHtml: string): string {
  const isTracked = isChannelSql('i.channel', (facts) => facts.isTracked);
  const off = byChannelSql('i.channel', (facts) =>
    facts.isTracked ? `'{"opens": false, "clicks": false}'::jsonb` : null,
  );
  return `
    case when ${isTracked} and ${links} is not null and ${hasHtml} then (
      select case when w.opens or w.clicks
        then jsonb_strip_nulls(jsonb_build_object('opens', w.opens, 'clicks', w.clicks, 'host', w.host,
          'own', nullif(${links}->>'publicUrl', w.host), 'key', ${links}->>'keyId'))
        else jsonb_build_object('opens', false, 'clicks', false) end
      from (
        select h.host,
          h.host is not null and b.track_opens and coalesce((i.tracking->>'opens')::boolean, true) as opens,
          h.host is not null and b.track_clicks and coalesce((i.tracking->>'clicks')::boolean, true)
            and i.domain_id is not null as clicks
        from brands b, (select coalesce(
          (select 'https://' || d.tracking_host from domains d
           where d.id = i.domain_id and d.tracking_ok_at is not null),
          ${links}->>'publicUrl') as host offset 0) h
        where b.id = i.brand_id
      ) w
    ) else ${off} end`;
}
