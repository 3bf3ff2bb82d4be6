import { ConfigError, type Config } from '../config.ts';
import { parseEmailAddress } from './addresses/email.ts';

/**
 * The sender every account may use without a domain of its own.
 * @param mailDomain the setting MAIL_DOMAIN
 */
export function sandboxAddress(accountId: number, mailDomain: string): string {
  return `sandbox-${accountId}@${mailDomain.toLowerCase()}`;
}

/**
 * Who the service's own mail is from: SYSTEM_FROM, or an address at MAIL_DOMAIN, which our own keys sign for.
 * @returns an address, with a display name or without
 * @throws ConfigError where SYSTEM_FROM is no address
 */
export function systemSender(config: Pick<Config, 'SYSTEM_FROM' | 'MAIL_DOMAIN'>): string {
  const from = config.SYSTEM_FROM ?? `Carillon <no-reply@${config.MAIL_DOMAIN.toLowerCase()}>`;
  const parsed = parseEmailAddress(from);
  if ('error' in parsed) {
    throw new ConfigError(
      `bad settings:\n  ${config.SYSTEM_FROM ? 'SYSTEM_FROM' : 'MAIL_DOMAIN'}: ${parsed.error}`,
    );
  }
  return from.trim();
}
