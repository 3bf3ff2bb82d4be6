import type { Logger } from 'pino';
import type { ProviderDeps, ProviderDnsRecord } from '../../delivery/wire/adapters/kind.ts';
import { findProvider, type NamedProvider } from '../../delivery/wire/providers/named.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';

/** Access to the services of named providers. */
export interface ProviderAccess {
  keyring: Keyring;
  providers: ProviderDeps;
  log: Logger;
}

/** The fields of a domain that its provider needs. */
interface ProvidedDomain {
  id: number;
  name: string;
  provider_id: number | null;
}

/** What a provider requires. */
export interface ProviderDemand {
  records: ProviderDnsRecord[];
  carillonSigns: boolean;
}

async function providerOf(
  { keyring, providers }: ProviderAccess,
  { provider_id: id }: Pick<ProvidedDomain, 'provider_id'>,
): Promise<NamedProvider | null> {
  return id === null ? null : findProvider(providers.pool, keyring, id);
}

/** Receives the progress of a registration from {@link registerWithProvider}. */
export interface RegistrationNotes {
  /** The service does not know the domain, and the next request creates it. */
  creating(): Promise<void>;
  /**
   * The service has the domain.
   * @param isNew whether this call registered it
   */
  registered(isNew: boolean): Promise<void>;
  /** The service refuses the domain, or refuses to say whether it has it. */
  refused(): Promise<void>;
}

/**
 * Registers a domain with its provider, unless it is already registered.
 * @returns what the provider requires; nothing if the provider does not register domains, or was removed
 * @throws DomainRefusedError if the provider refuses the domain; other errors may be temporary, and their messages are
 *   meant for the operator
 */
export async function registerWithProvider(
  access: ProviderAccess,
  domain: ProvidedDomain,
  notes: RegistrationNotes,
): Promise<ProviderDemand> {
  const provider = await providerOf(access, domain);
  const domains = provider?.kind.domains;
  if (!provider || !domains) return { records: [], carillonSigns: true };
  const { settings } = provider;
  const isNew = await domains.registerDomain(domain.name, settings, access.providers, () => notes.creating());
  await notes.registered(isNew);
  const records = await domains.dnsRecords(domain.name, settings, access.providers);
  if (domains.managesDomains?.(settings) !== false) requireSigning(provider, records);
  return { records, carillonSigns: domains.carillonSigns };
}

/**
 * A service may answer before it has made its keys, or in an unexpected form. What we store is final, and without the
 * service's key a domain would be verified although its mail could not be signed.
 * @throws Error that may be temporary, so that the service is asked again
 */
function requireSigning({ kind }: NamedProvider, records: readonly ProviderDnsRecord[]): void {
  if (kind.domains?.carillonSigns) return;
  if (records.some(({ purpose, required }) => purpose === 'dkim' && required)) return;
  throw new Error(`${kind.title} has not named a DKIM record`);
}

/**
 * Removes the registration of a domain at its provider, unless the provider was removed.
 * @throws Error if the provider cannot be reached, or refuses
 */
export async function removeFromProvider(
  access: ProviderAccess,
  domain: Omit<ProvidedDomain, 'id'>,
): Promise<void> {
  const provider = await providerOf(access, domain);
  await provider?.kind.domains?.removeDomain(domain.name, provider.settings, access.providers);
}

/**
 * Asks the provider to check the records of a domain that are right now. If that fails, the provider finds them later
 * by itself, or refuses mail of the domain until then.
 * @returns the records that the provider requires afterwards; null if they are unchanged or unknown
 */
export async function verifyWithProvider(
  access: ProviderAccess,
  domain: ProvidedDomain,
): Promise<ProviderDnsRecord[] | null> {
  try {
    const provider = await providerOf(access, domain);
    const domains = provider?.kind.domains;
    if (!provider || !domains?.verifyDomain) return null;
    await domains.verifyDomain(domain.name, provider.settings, access.providers);
    return await domains.dnsRecords(domain.name, provider.settings, access.providers);
  } catch (error) {
    access.log.warn({ err: error, domain_id: domain.id }, 'could not ask the provider to verify a domain');
    return null;
  }
}
