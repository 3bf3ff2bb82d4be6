import { getPublicSuffix } from 'tldts';
import type { Config } from '../../config.ts';
import { canonicalDomain } from '../../delivery/terms/addresses/email.ts';
import { returnPathHostOf } from '../../delivery/terms/addresses/return-path-host.ts';
import type { ServiceHosts } from './records.ts';

/** Length in octets of a return path before its host: `b-`, two ids of at most 11 digits, a MAC of 26, and the `@`. */
const RETURN_PATH_OCTETS = 53;
const MAX_ADDRESS_OCTETS = 254;
/** Maximum length of a name as typed. U-labels are shorter than A-labels. */
export const MAX_TYPED_LENGTH = 253;

/**
 * A name in A-labels and lower case, or what is wrong with it. The error follows the field's name: "is not a domain
 * name".
 */
export type ParsedName = { name: string } | { error: string };

/**
 * Whether a name is one of the installation's hosts, or below one. A name above one, such as the team's own domain, may
 * be registered: its DNS records have to prove it like those of any other domain.
 */
function belongsTo(host: string, name: string): boolean {
  return name === host || name.endsWith(`.${host}`);
}

/** The host of a URL; null if it is not a domain name. */
function hostNameOf(url: string | undefined): string | null {
  if (url === undefined || !URL.canParse(url)) return null;
  const host = canonicalDomain(new URL(url).hostname);
  return typeof host === 'string' ? host : null;
}

/** The settings that name the installation's hosts. */
type HostSettings = Pick<Config, 'MAIL_DOMAIN' | 'MAIL_HOST' | 'PUBLIC_URL'>;

/** The installation's hosts that the records of domains point to. */
export function serviceHosts({ MAIL_DOMAIN, MAIL_HOST, PUBLIC_URL }: HostSettings): ServiceHosts {
  const mailDomain = MAIL_DOMAIN.toLowerCase();
  return {
    mailDomain,
    mailHost: (MAIL_HOST ?? mailDomain).toLowerCase(),
    publicHost: hostNameOf(PUBLIC_URL),
  };
}

/** The names that belong to the installation itself. */
export function ownHosts(config: HostSettings): string[] {
  const { mailDomain, mailHost, publicHost } = serviceHosts(config);
  return [mailDomain, mailHost, ...(publicHost === null ? [] : [publicHost])];
}

/**
 * Reads the name of a sending domain: a name below a public suffix, in U-labels or A-labels, that does not belong to
 * the installation.
 * @param own from {@link ownHosts}
 */
export function parseDomainName(text: string, own: readonly string[]): ParsedName {
  const name = canonicalDomain(text.trim().replace(/\.$/, ''));
  if (typeof name !== 'string') return { error: 'is not a domain name such as example.com' };
  if (returnPathHostOf(name).length + RETURN_PATH_OCTETS > MAX_ADDRESS_OCTETS) {
    return { error: 'is too long: its return paths would exceed the maximum length of an address' };
  }
  if (own.some((host) => belongsTo(host, name))) return { error: 'belongs to this service' };
  if (getPublicSuffix(name, { allowPrivateDomains: true }) === name) {
    return { error: 'is a public suffix, under which others register their own domains' };
  }
  return { name };
}
