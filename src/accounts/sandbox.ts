/**
 * The sender every account may use without a domain of its own.
 * @param mailDomain the setting MAIL_DOMAIN
 */
export function sandboxAddress(accountId: number, mailDomain: string): string {
  return `sandbox-${accountId}@${mailDomain.toLowerCase()}`;
}
