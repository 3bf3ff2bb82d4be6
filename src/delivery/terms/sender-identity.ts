import { LRUCache } from 'lru-cache';
import { ConfigError, type Config } from '../../config.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { type EmailAddress, parseEmailAddress } from './addresses/email.ts';

/**
 * The address that an account may send from without a domain of its own.
 * @param mailDomain the setting MAIL_DOMAIN
 */
export function sandboxAddress(accountId: number, mailDomain: string): string {
  return `sandbox-${accountId}@${mailDomain.toLowerCase()}`;
}

/**
 * The built-in address of a brand's inbox, from which the brand may also send.
 * @param mailDomain the setting MAIL_DOMAIN
 */
export function builtInInboxAddress(brandId: number, mailDomain: string): string {
  return `inbox-${brandId}@${mailDomain.toLowerCase()}`;
}

/** The verified domain of a sender's address, and the provider that sends for it. */
export interface SenderIdentity {
  domainId: number;
  /** The named provider of the domain; null: the one of EMAIL_PROVIDER_URL. */
  providerId: number | null;
}

/** The senders of one brand, as they were within the last second. */
export interface BrandSenders {
  /**
   * @returns `sandbox` for the account's sandbox address, and for the built-in inbox of the brand; null if the address is
   *   not a verified sender of the brand
   */
  resolve(address: Pick<EmailAddress, 'key' | 'domain'>): SenderIdentity | 'sandbox' | null;
  /** The bare address that sends an email without a sender: the account's own if it is verified, else the sandbox. */
  readonly defaultAddress: string;
  readonly defaultIdentity: SenderIdentity | 'sandbox';
}

interface Scope {
  accountId: number;
  brandId: number;
}

/** Resolves senders of brands. */
export interface SenderIdentities {
  /**
   * Reads the brand's senders, at most once a second. A domain that lost its verification in that second still counts
   * as verified, but the limit `domain_unverified` holds its mail.
   */
  ofBrand(scope: Scope): Promise<BrandSenders>;
}

const KNOWN_MS = 1_000;
const MAX_KNOWN = 10_000;

interface Row {
  email_from_email: string | null;
  /** The brand has its built-in inbox, and it is enabled. */
  built_in_inbox: boolean;
  domains: { id: number; name: string; provider_id: number | null }[] | null;
}

/** Which domains count: verified ones only, or also those that have lost their verification, whose mail is held. */
type Which = 'verified' | 'verified or lost';

const statusSql: Readonly<Record<Which, string>> = {
  verified: `d.status = 'verified'`,
  'verified or lost': `(d.status = 'verified' or d.lost_at is not null)`,
};

async function readRow(db: Queryable, { accountId, brandId }: Scope, which: Which): Promise<Row> {
  const { rows } = await db.query<Row>({
    name: which === 'verified' ? 'brand_senders_2' : 'brand_senders_lost_too_2',
    text: `
    select a.email_from_email,
      a.capabilities -> 'inboxes' = 'true' and exists (
        select from inboxes i
        where i.brand_id = $2 and i.account_id = a.id and i.domain_name is null and i.enabled and i.removed_at is null
      ) as built_in_inbox,
      (select json_agg(json_build_object('id', d.id, 'name', d.name, 'provider_id', d.provider_id))
       from domains d where d.brand_id = $2 and d.account_id = a.id and ${statusSql[which]}) as domains
    from accounts a where a.id = $1`,
    values: [accountId, brandId],
  });
  return rows[0] ?? { email_from_email: null, built_in_inbox: false, domains: null };
}

function sendersOf({ accountId, brandId }: Scope, mailDomain: string, row: Row): BrandSenders {
  const sandbox = sandboxAddress(accountId, mailDomain);
  const byDomain = new Map(
    (row.domains ?? []).map(({ id, name, provider_id }): [string, SenderIdentity] => [
      name,
      { domainId: id, providerId: provider_id },
    ]),
  );
  const ours = [sandbox, ...(row.built_in_inbox ? [builtInInboxAddress(brandId, mailDomain)] : [])];
  const resolve: BrandSenders['resolve'] = ({ key, domain }) =>
    ours.includes(key) ? 'sandbox' : (byDomain.get(domain) ?? null);
  const own = parseEmailAddress(row.email_from_email ?? '');
  const identity = 'error' in own ? null : resolve(own);
  if ('error' in own || identity === null) {
    return { resolve, defaultAddress: sandbox, defaultIdentity: 'sandbox' };
  }
  return { resolve, defaultAddress: own.address, defaultIdentity: identity };
}

/**
 * Reads the senders of a brand.
 * @param mailDomain the setting MAIL_DOMAIN
 * @param which whether to include domains that have lost their verification; the limit `domain_unverified` holds their
 *   mail
 */
export async function readSenders(
  db: Queryable,
  scope: Scope,
  mailDomain: string,
  which: Which = 'verified',
): Promise<BrandSenders> {
  return sendersOf(scope, mailDomain, await readRow(db, scope, which));
}

/**
 * The sender of a content.
 * @param fromEmail the address that the content names; null: the default of the brand
 * @returns identity null if the address is not a verified sender of the brand
 */
export function senderOf(
  senders: BrandSenders,
  fromEmail: string | null,
): { address: string; identity: SenderIdentity | 'sandbox' | null } {
  if (fromEmail === null) return { address: senders.defaultAddress, identity: senders.defaultIdentity };
  const parsed = parseEmailAddress(fromEmail);
  return { address: fromEmail, identity: 'error' in parsed ? null : senders.resolve(parsed) };
}

/**
 * @param db may be a pool
 * @param mailDomain the setting MAIL_DOMAIN
 */
export function createSenderIdentities(db: Queryable, mailDomain: string): SenderIdentities {
  const cache = new LRUCache<number, BrandSenders, Scope>({
    max: MAX_KNOWN,
    ttl: KNOWN_MS,
    // A brand belongs to one account, so its id is a sufficient key. Concurrent misses share one query.
    fetchMethod: (_brandId, _stale, { context: scope }) => readSenders(db, scope, mailDomain),
  });
  return {
    ofBrand: (scope) => cache.forceFetch(scope.brandId, { context: scope }),
  };
}

/**
 * The sender of system mail: SYSTEM_FROM, by default an address at MAIL_DOMAIN, which the service's own keys sign for.
 * @returns an address, with or without a display name
 * @throws ConfigError if SYSTEM_FROM is not an address
 */
export function systemSender(config: Pick<Config, 'SYSTEM_FROM' | 'MAIL_DOMAIN'>): string {
  const from = config.SYSTEM_FROM ?? `Carillon <no-reply@${config.MAIL_DOMAIN.toLowerCase()}>`;
  const parsed = parseEmailAddress(from);
  if ('error' in parsed) {
    throw new ConfigError(
      `bad settings:\n  ${config.SYSTEM_FROM ? 'SYSTEM_FROM' : 'MAIL_DOMAIN'}: ${parsed.error}`,
    );
  }
  return from.trim();
}
