/**
 * The host under a sending domain that receives its bounces. It shares the organizational domain with the sender's
 * address, so that SPF aligns for DMARC (RFC 7489 §3.1.2).
 */
export function returnPathHostOf(domain: string): string {
  return `crl-bounces.${domain}`;
}
