import { parse } from 'tldts';
import { ResolveError, type MxRecord, type Resolver } from '../../../platform/dns/resolver.ts';

/** A host that accepts mail, with its reachable addresses. */
export interface MailHost {
  /** In lower case, without a trailing dot. */
  name: string;
  addresses: string[];
}

/** What DNS says about mail for a domain. */
export type DomainFinding =
  /** `address`: the domain has no MX record, so mail goes to its own address (RFC 5321 §5.1). Most preferred first. */
  | { kind: 'accepts_mail'; via: 'mx' | 'address'; hosts: MailHost[] }
  /** It says that it accepts no mail (RFC 7505). */
  | { kind: 'null_mx' }
  /** It exists, but has no mail server that the public Internet can reach. */
  | { kind: 'no_mail_server' }
  | { kind: 'no_domain' }
  /** The name servers did not answer, or not properly. */
  | { kind: 'timeout' };

export type HostAddresses = (name: string, timeoutMs: number) => Promise<string[] | 'none' | 'timeout'>;

interface Asked {
  resolver: Resolver;
  /** Returns and caches the reachable addresses of a host. */
  addressesOf: HostAddresses;
  /** Time limit for everything about the domain. */
  timeoutMs: number;
  /** In milliseconds. */
  now: () => number;
}

/** Number of mail hosts, the most preferred first, that are looked up until one has an address. */
const MAX_HOSTS_ASKED = 5;
const MAX_ADDRESSES = 4;

/**
 * Looks up the addresses of a mail host.
 * @param isReachable the egress policy; other addresses are dropped, so that nothing ever connects to them
 */
export async function lookUpAddresses(
  resolver: Resolver,
  isReachable: (address: string) => boolean,
  host: string,
  timeoutMs: number,
): Promise<string[] | 'none' | 'timeout'> {
  try {
    const found = await resolver.resolveAddresses(host, { timeoutMs });
    const reachable = found.map(({ address }) => address).filter(isReachable);
    return reachable.length > 0 ? reachable.slice(0, MAX_ADDRESSES) : 'none';
  } catch (error) {
    if (!(error instanceof ResolveError)) throw error;
    return error.code === 'not_found' ? 'none' : 'timeout';
  }
}

/**
 * Looks up whether a domain accepts mail. Caches nothing.
 * @param domain in A-labels and lower case
 */
export async function lookUpDomain(domain: string, asked: Asked): Promise<DomainFinding> {
  const deadline = asked.now() + asked.timeoutMs;
  const leftMs = () => Math.max(1, deadline - asked.now());
  let records: MxRecord[];
  try {
    records = await asked.resolver.resolveMx(domain, { timeoutMs: leftMs() });
  } catch (error) {
    if (!(error instanceof ResolveError)) throw error;
    if (error.code === 'unavailable') return { kind: 'timeout' };
    if (error.noSuchName) return missing(domain, asked.resolver, leftMs());
    return concealed(domain, await hostsOf([domain], 'address', asked, leftMs));
  }
  const hosts = records.toSorted((one, other) => one.priority - other.priority).map(hostName);
  if (hosts.every((host) => host === '')) return { kind: 'null_mx' };
  const named = [...new Set(hosts.filter((host) => host !== ''))];
  return concealed(domain, await hostsOf(named, 'mx', asked, leftMs));
}

/**
 * A domain may be an alias of a name that does not exist. Then the domain still exists. If the two reasons differed,
 * tenants could use an alias to explore the operator's own network.
 */
async function missing(domain: string, resolver: Resolver, timeoutMs: number): Promise<DomainFinding> {
  try {
    const aliases = await resolver.resolveCname(domain, { timeoutMs });
    return { kind: aliases.length > 0 ? 'no_mail_server' : 'no_domain' };
  } catch (error) {
    if (!(error instanceof ResolveError)) throw error;
    return { kind: error.code === 'not_found' ? 'no_domain' : 'timeout' };
  }
}

function hostName({ exchange }: MxRecord): string {
  return exchange.toLowerCase().replace(/\.$/, '');
}

async function hostsOf(
  names: readonly string[],
  via: 'mx' | 'address',
  { addressesOf }: Asked,
  leftMs: () => number,
): Promise<DomainFinding> {
  let unanswered = names.length > MAX_HOSTS_ASKED;
  for (const [index, name] of names.slice(0, MAX_HOSTS_ASKED).entries()) {
    const addresses = await addressesOf(name, leftMs());
    if (Array.isArray(addresses)) {
      const rest = names.slice(index + 1, MAX_HOSTS_ASKED);
      return { kind: 'accepts_mail', via, hosts: [{ name, addresses }, ...rest.map(unresolved)] };
    }
    unanswered ||= addresses === 'timeout';
  }
  return { kind: unanswered ? 'timeout' : 'no_mail_server' };
}

/** Its addresses are looked up only if the hosts before it cannot be reached. */
function unresolved(name: string): MailHost {
  return { name, addresses: [] };
}

/**
 * A name below no public suffix may belong to the operator's own network, which tenants must not be able to explore:
 * without a public mail server, such a name is treated like one that does not exist.
 */
function concealed(domain: string, finding: DomainFinding): DomainFinding {
  return finding.kind === 'no_mail_server' && !parse(domain).isIcann ? { kind: 'no_domain' } : finding;
}
