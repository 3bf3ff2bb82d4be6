/** What the DNS records of a domain mean, and how they are. */
import type { Schemas } from '../../api/client.ts';

export type Domain = Schemas['Domain'];
export type DnsRecord = NonNullable<Domain['dns_records']>[number];

/** How often a page asks for records that are not right yet. */
export const RECORDS_POLL_MS = 5_000;
/** The most bytes that one string of a TXT record can have (RFC 1035, section 3.3). */
const MAX_TXT_STRING = 255;

export const wrongRecords = ({ dns_records: records }: Domain): DnsRecord[] =>
  (records ?? []).filter(({ required, valid }) => required === 'true' && valid !== 'true');

/** Whether nothing about the domain is expected to change soon. */
export const isSettled = (domain: Domain): boolean =>
  domain.status === 'verified' && wrongRecords(domain).length === 0;

const PURPOSES: readonly [matches: (record: DnsRecord, domain: string) => boolean, purpose: string][] = [
  [({ name }) => name.includes('-ed._domainkey.'), 'DKIM, a second signature (Ed25519)'],
  [({ name }) => name.includes('._domainkey.'), 'DKIM: signs your mail and proves that the domain is yours'],
  [({ name }) => name.startsWith('_dmarc.'), 'DMARC: what others do with mail that only claims to be yours'],
  [({ name }, domain) => name === `links.${domain}`, 'Links in your mail lead to your own domain'],
  [({ name, record_type: type }, domain) => type === 'MX' && name === domain, 'Brings mail to your inboxes'],
  [({ record_type: type }) => type === 'MX', 'Bounces come back to Carillon'],
  [({ value }) => value.startsWith('v=spf1'), 'SPF: who may send for the return path'],
];

/** Returns what a record is for; null if only the provider knows. */
export const purposeOf = (record: DnsRecord, domain: Domain): string | null =>
  PURPOSES.find(([matches]) => matches(record, domain.name))?.[1] ?? null;

function txtStrings(value: string): string {
  const parts = [];
  for (let at = 0; at < value.length; at += MAX_TXT_STRING) {
    parts.push(`"${value.slice(at, at + MAX_TXT_STRING).replaceAll(/["\\]/g, String.raw`\$&`)}"`);
  }
  return parts.join(' ');
}

/** Returns the records as lines of a zone file, which most DNS providers can import. */
export function zoneOf(records: readonly DnsRecord[]): string {
  const lines = records.map(({ record_type: type, name, value, priority }) => {
    if (type === 'TXT') return `${name}. 3600 IN TXT ${txtStrings(value)}`;
    return `${name}. 3600 IN ${type} ${type === 'MX' ? `${priority || '10'} ` : ''}${value}.`;
  });
  return `${lines.join('\n')}\n`;
}
