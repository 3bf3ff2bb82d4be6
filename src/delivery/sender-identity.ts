import { ConfigError, type Config } from '../config.ts';
import { parseEmailAddress } from './addresses/email.ts';

/**
 * The address that an account may send from without a domain of its own.
 * @param mailDomain the setting MAIL_DOMAIN
 */
export function sandboxAddress(accountId: number, mailDomain: string): string {
  return `sandbox-${accountId}@${mailDomain.toLowerCase()}`;
}

/**
 * The sender of system mail: SYSTEM_FROM, by default an address at MAIL_DOMAIN, which the service's own keys sign for.
 * @returns an address, with or without a display name
 * @throws ConfigError if SYSTEM_FROM is not an address
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
