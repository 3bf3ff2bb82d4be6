import type { Queryable } from '../../platform/db/queryable.ts';

/**
 * The host under a sending domain that takes its bounces. It shares the organizational domain with the sender's
 * address, so that SPF aligns for DMARC (RFC 7489 §3.1.2).
 */
export function returnPathHostOf(domain: string): string {
  return `crl-bounces.${domain}`;
}

/**
 * Whether mail to a host may be a bounce to the return path of a registered domain. A domain that has lost its
 * verification still receives late bounces; the MAC in the local part decides whether they are genuine.
 * @param host in lower case
 */
export async function isReturnPathHost(db: Queryable, host: string): Promise<boolean> {
  const { rowCount } = await db.query('select 1 from domains where return_path_host = $1 limit 1', [host]);
  return (rowCount ?? 0) > 0;
}
