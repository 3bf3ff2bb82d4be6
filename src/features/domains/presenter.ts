import { dkimRecord } from '../../delivery/content/dkim/sign.ts';
import type { DomainRecordView } from './events.ts';
import { type DomainRelated, type DomainRow, isRegistered } from './model.ts';
import { type DomainRecord, recordsOf, type ServiceHosts } from './records.ts';
import type { DomainResource } from './schema.ts';

/** A row and the other inputs of its records. */
export interface LoadedDomain {
  row: DomainRow;
  related: DomainRelated;
}

/**
 * The records that a domain needs or may have.
 * @throws Error if a key is missing
 */
export function recordsOfDomain({ row, related }: LoadedDomain, hosts: ServiceHosts): DomainRecord[] {
  const { name } = row;
  const record = (algorithm: 'rsa' | 'ed25519') => {
    const key = related.keys.find((each) => each.algorithm === algorithm);
    if (!key) throw new Error(`domain ${row.id} has no ${algorithm} key`);
    return dkimRecord({ domain: name, selector: key.selector, algorithm, publicKeyBase64: key.public_key });
  };
  const source = {
    name,
    returnPathHost: row.return_path_host,
    trackingHost: row.tracking_host,
    carillonSigns: row.carillon_signs,
    providerRecords: row.provider_records ?? [],
    receivesMail: related.has_inbox,
  };
  return recordsOf(source, { rsa: record('rsa'), ed25519: record('ed25519') }, hosts);
}

/** The records with the results of the last check. */
export function presentRecords(
  records: readonly DomainRecord[],
  checks: DomainRow['checks'],
): DomainRecordView[] {
  return records.map(({ key, type, name, value, priority, required }) => {
    const { valid, found } = checks[key] ?? { valid: 'unknown' as const };
    return {
      record_type: type,
      name,
      value,
      priority: priority === null ? '' : String(priority),
      valid,
      required: required ? ('true' as const) : ('false' as const),
      ...(valid === 'false' ? { found: found ?? '' } : {}),
    };
  });
}

export interface DomainPresentation {
  hosts: ServiceHosts;
  /** The value of `provider` for domains without a named one. */
  defaultProvider: string;
}

export function presentDomain(
  domain: LoadedDomain,
  { hosts, defaultProvider }: DomainPresentation,
): DomainResource {
  const { row, related } = domain;
  return {
    id: row.id,
    name: row.name,
    provider: related.provider ?? defaultProvider,
    status: row.status,
    dns_records: isRegistered(row) ? presentRecords(recordsOfDomain(domain, hosts), row.checks) : null,
    provider_error: row.provider_error,
    verified_at: row.verified_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
  };
}
