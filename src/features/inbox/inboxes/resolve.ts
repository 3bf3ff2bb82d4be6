import { parseEmailAddress } from '../../../delivery/terms/addresses/email.ts';
import { withoutTag } from '../../../delivery/terms/channels/recipient.ts';
import type { InboxLookup } from '../../../delivery/wire/inbound/inboxes.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { capabilitiesOf } from '../../accounts/schema.ts';

const unknown: InboxLookup = { kind: 'refused', status: 550, text: '5.1.1 no such mailbox here' };
const disabled: InboxLookup = {
  kind: 'refused',
  status: 550,
  text: '5.2.1 this mailbox does not accept mail',
};
const unproved: InboxLookup = {
  kind: 'refused',
  status: 451,
  text: '4.4.4 the domain of this mailbox is not verified at the moment',
};

/** An inbox, and what is known of its brand's claim of the domain. */
interface Candidate {
  id: number;
  account_id: number;
  brand_id: number;
  address: string;
  enabled: boolean;
  built_in: boolean;
  capabilities: Record<string, unknown>;
  verified: boolean;
  /** The claim may be verified soon: it is new, or it lost its verification within the last 72 hours. */
  hopeful: boolean;
}

/** Several brands may have had the domain at different times, so several inboxes may have the address. */
const FIND_CANDIDATES = `
  select i.id, i.account_id, i.brand_id, i.address, i.enabled, i.domain_name is null as built_in, a.capabilities,
    coalesce(d.status = 'verified', false) as verified,
    coalesce(d.status = 'pending' or d.lost_at > now() - interval '72 hours', false) and not exists (
      select from domains o
      where o.name = i.domain_name and o.status = 'verified' and o.account_id <> i.account_id) as hopeful
  from inboxes i
  join accounts a on a.id = i.account_id
  left join domains d on d.brand_id = i.brand_id and d.name = i.domain_name
  where i.address_key = $1 and i.removed_at is null`;

/**
 * Finds the inbox that accepts mail to an address, also if the address has a tag: `support+42@acme.example` is
 * `support@acme.example`.
 *
 * An inbox at a brand's own domain accepts mail while the brand's claim of the domain is verified. If the claim lost its
 * verification, senders are asked to try again for 72 hours, unless another account has proved that the domain is its
 * own.
 * @param address from `RCPT TO` or a request
 * @param mailDomain the setting MAIL_DOMAIN, at which only built-in inboxes are
 */
export async function resolveInboxAddress(
  db: Queryable,
  address: string,
  mailDomain: string,
): Promise<InboxLookup> {
  const parsed = parseEmailAddress(address);
  if ('error' in parsed) return unknown;
  const { rows } = await db.query<Candidate>({
    name: 'resolve_inbox',
    text: FIND_CANDIDATES,
    // No inbox has a `+` in its address, so what follows one is a tag.
    values: [withoutTag(parsed.key)],
  });
  const atMailDomain = parsed.domain === mailDomain.toLowerCase();
  return choose(rows.filter((each) => each.built_in === atMailDomain));
}

function choose(candidates: readonly Candidate[]): InboxLookup {
  const able = candidates.filter(({ capabilities }) => capabilitiesOf(capabilities).inboxes);
  const owner = able.find((each) => each.built_in || each.verified);
  if (owner?.enabled) {
    const { id, account_id: accountId, brand_id: brandId, address } = owner;
    return { kind: 'inbox', id, accountId, brandId, address };
  }
  if (owner) return disabled;
  return able.some((each) => each.enabled && each.hopeful) ? unproved : unknown;
}
