import { getDomain } from 'tldts';
import type { DkimRecord } from '../../delivery/content/dkim/keys.ts';
import type { ProviderDnsRecord } from '../../delivery/wire/adapters/kind.ts';
import { INBOX_RECORD } from './schema.ts';

/** The installation's hosts that the records of domains point to. */
export interface ServiceHosts {
  /** MAIL_DOMAIN: its SPF record lists the hosts that send mail. */
  mailDomain: string;
  /** Receives bounces, and mail to inboxes. */
  mailHost: string;
  /** The host of PUBLIC_URL, which serves opens and clicks; null if PUBLIC_URL is not set, or has no host name. */
  publicHost: string | null;
}

/** How a record is checked. A provider's record is `exact`. */
export type RecordRule = 'dkim' | 'mx' | 'spf' | 'dmarc' | 'cname' | 'exact';

/** A DNS record that a domain needs, or may have. */
export interface DomainRecord {
  /** Identifies the record among those of its domain. It is stored, so it never changes. */
  key: string;
  type: 'TXT' | 'CNAME' | 'MX';
  name: string;
  value: string;
  /** Only for MX records. */
  priority: number | null;
  required: boolean;
  rule: RecordRule;
  /** Names to query if there is no such record at the name itself. */
  fallbacks: readonly string[];
}

/** The inputs of a domain's records. */
export interface RecordSource {
  name: string;
  returnPathHost: string;
  trackingHost: string;
  /** Whether Carillon's own signature survives the provider. */
  carillonSigns: boolean;
  /** The records that a named provider requires. */
  providerRecords: readonly ProviderDnsRecord[];
  /** Whether an inbox has an address at the domain. */
  receivesMail: boolean;
}

/** The keys of a domain as DNS records. */
export interface DomainKeys {
  rsa: DkimRecord;
  ed25519: DkimRecord;
}

const MX_PRIORITY = 10;

/** The host under a sending domain that the links in its mail point to. */
export function trackingHostOf(domain: string): string {
  return `links.${domain}`;
}

function dkim(key: string, { name, value }: DkimRecord, required: boolean): DomainRecord {
  return { key, type: 'TXT', name, value, priority: null, required, rule: 'dkim', fallbacks: [] };
}

/** Our own return path. A provider that has its own sets it on the messages that it sends. */
function returnPath({ returnPathHost: name }: RecordSource, hosts: ServiceHosts): DomainRecord[] {
  const shared = { name, required: true, fallbacks: [] };
  const value = `v=spf1 include:${hosts.mailDomain} ~all`;
  return [
    {
      ...shared,
      key: 'return_path_mx',
      type: 'MX',
      value: hosts.mailHost,
      priority: MX_PRIORITY,
      rule: 'mx',
    },
    { ...shared, key: 'return_path_spf', type: 'TXT', value, priority: null, rule: 'spf' },
  ];
}

/** A policy of the organizational domain applies to its subdomains, too (RFC 7489 §6.6.3). */
function dmarc(name: string): DomainRecord {
  const organization = getDomain(name, { allowPrivateDomains: true });
  return {
    key: 'dmarc',
    type: 'TXT',
    name: `_dmarc.${name}`,
    value: 'v=DMARC1; p=none',
    priority: null,
    required: false,
    rule: 'dmarc',
    fallbacks: organization !== null && organization !== name ? [`_dmarc.${organization}`] : [],
  };
}

/** Mail to the domain's inboxes. Sending does not need it. */
function inbox({ name, receivesMail }: RecordSource, { mailHost: value }: ServiceHosts): DomainRecord[] {
  if (!receivesMail) return [];
  const shared = { type: 'MX', priority: MX_PRIORITY, required: false, rule: 'mx', fallbacks: [] } as const;
  return [{ ...shared, key: INBOX_RECORD, name, value }];
}

function tracking({ trackingHost: name }: RecordSource, { publicHost }: ServiceHosts): DomainRecord[] {
  if (publicHost === null) return [];
  const shared = { priority: null, required: false, rule: 'cname', fallbacks: [] } as const;
  return [{ ...shared, key: 'tracking', type: 'CNAME', name, value: publicHost }];
}

function providerRecord(record: ProviderDnsRecord): DomainRecord {
  const { type, name, value, priority, required } = record;
  const rules = { TXT: value.startsWith('v=spf1') ? 'spf' : 'exact', CNAME: 'cname', MX: 'mx' } as const;
  // The key contains the name, because a provider may list its records in any order.
  return {
    key: `provider:${type}:${name}`,
    type,
    name,
    value,
    priority,
    required,
    rule: rules[type],
    fallbacks: [],
  };
}

/**
 * Lists the records of a domain: first those that verify it, then the optional ones. The RSA key is always among the
 * former, because it alone shows which claim the DNS proves.
 */
export function recordsOf(source: RecordSource, keys: DomainKeys, hosts: ServiceHosts): DomainRecord[] {
  const provider = source.providerRecords.map(providerRecord);
  const ownReturnPath = !source.providerRecords.some(({ purpose }) => purpose === 'return_path');
  const all = [
    dkim('dkim_rsa', keys.rsa, true),
    ...(ownReturnPath ? returnPath(source, hosts) : []),
    ...provider,
    ...(source.carillonSigns ? [dkim('dkim_ed25519', keys.ed25519, false)] : []),
    dmarc(source.name),
    ...tracking(source, hosts),
    ...inbox(source, hosts),
  ];
  return [...all.filter(({ required }) => required), ...all.filter(({ required }) => !required)];
}
