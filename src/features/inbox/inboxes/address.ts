import { getDomain } from 'tldts';
import { type EmailAddress, parseEmailAddress } from '../../../delivery/terms/addresses/email.ts';
import { builtInInboxAddress } from '../../../delivery/terms/sender-identity.ts';
import { invalid } from '../../../errors.ts';
import type { Tenant } from '../../../platform/auth/tenant.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { ResolveError, type Resolver } from '../../../platform/dns/resolver.ts';
import { hasVerifiedDomain } from './model.ts';

export interface AddressDeps {
  db: Queryable;
  resolver: Pick<Resolver, 'resolveMx'>;
  hosts: { mailDomain: string; mailHost: string };
}

/** The address of a new inbox. */
export interface InboxAddress {
  address: string;
  key: string;
  /** Null: the built-in address. */
  domainName: string | null;
}

const refuse = (problem: string) => invalid({ address: [problem] });

/**
 * Checks the address of a new inbox. This may query name servers, so call it before the transaction.
 * @param given undefined: the built-in address of the brand
 * @throws AppError validation_error
 */
export async function checkInboxAddress(
  deps: AddressDeps,
  tenant: Tenant,
  given: string | undefined,
): Promise<InboxAddress> {
  const { mailDomain } = deps.hosts;
  const builtIn = builtInInboxAddress(tenant.brandId, mailDomain);
  const parsed = parseEmailAddress(given ?? builtIn);
  if ('error' in parsed) throw refuse(parsed.error);
  const { address, key, local, domain } = parsed;
  if (key === builtIn) return { address, key, domainName: null };
  if (domain === mailDomain) {
    throw refuse(`is at this service’s own domain, at which the brand can have only ${builtIn}`);
  }
  if (local.includes('+')) throw refuse('must not contain a +: mail to name+tag arrives in the inbox name');
  await requireDomain(deps, tenant, parsed);
  return { address, key, domainName: domain };
}

async function requireDomain(deps: AddressDeps, tenant: Tenant, { domain }: EmailAddress): Promise<void> {
  if (!(await hasVerifiedDomain(deps.db, tenant, domain))) {
    throw refuse(`must be at a verified domain of the brand, and ${domain} is not one`);
  }
  // The mail of an organization usually arrives elsewhere already; that of a subdomain was created for this.
  if (getDomain(domain, { allowPrivateDomains: true }) !== domain) return;
  if (await hasForeignExchange(deps, domain)) {
    throw refuse(
      `must be at a subdomain such as inbox.${domain}: mail to ${domain} already goes to other servers, and its MX ` +
        'record would have to lead here',
    );
  }
}

/** Whether mail to a domain goes to another server than ours. A null MX (RFC 7505) names no server. */
async function hasForeignExchange({ resolver, hosts }: AddressDeps, domain: string): Promise<boolean> {
  try {
    const found = await resolver.resolveMx(domain);
    const names = found.map(({ exchange }) => exchange.toLowerCase().replace(/\.$/, ''));
    return names.some((name) => name !== '' && name !== hosts.mailHost);
  } catch (error) {
    if (!(error instanceof ResolveError)) throw error;
    if (error.code === 'not_found') return false;
    throw refuse(
      `cannot be checked, because the MX records of ${domain} could not be looked up; try again later`,
    );
  }
}
