import { join } from 'node:path';
import type { Config } from '../../config.ts';
import { keptSecret } from '../machine/secret-file.ts';

/** Ports below 1,024 need rights that a developer's processes do not have. */
const DEVELOPMENT_SUBMISSION_PORT = 2587;

/** Ports as the setting has them. */
const portsText = (ports: readonly number[] | undefined) => (ports?.length === 0 ? 'none' : ports?.join(','));

/**
 * Returns the settings with the defaults of `--dev`: secrets stored in the home folder, providers that capture every
 * message, and outbound requests allowed to this machine.
 * @param home path of the home folder, which must exist
 */
export async function developmentSettings(config: Config, home: string): Promise<Config> {
  return {
    ...config,
    CARILLON_DEV: true,
    CARILLON_HOME: home,
    APP_SECRET: config.APP_SECRET ?? (await keptSecret(join(home, 'app-secret'))),
    MAILBOX_TOKEN: config.MAILBOX_TOKEN ?? (await keptSecret(join(home, 'mailbox-token'), 24)),
    EMAIL_PROVIDER_URL: config.EMAIL_PROVIDER_URL ?? 'capture:',
    SMS_PROVIDER_URL: config.SMS_PROVIDER_URL ?? 'capture:',
    SUBMISSION_PORTS: config.SUBMISSION_PORTS ?? [DEVELOPMENT_SUBMISSION_PORT],
    SUBMISSION_TLS_PORTS: config.SUBMISSION_TLS_PORTS ?? [],
    EGRESS_ALLOW: config.EGRESS_ALLOW.length > 0 ? config.EGRESS_ALLOW : ['127.0.0.0/8', '::1/128'],
  };
}

/** Returns the settings that the supervisor passes to its roles, as environment variables. */
export function asVariables(config: Config): Partial<Record<keyof Config, string>> {
  const { PORT, MAILBOX_PORT, MAIL_PORT, CARILLON_HOME, CARILLON_DEV, EGRESS_ALLOW } = config;
  const texts = {
    DATABASE_URL: config.DATABASE_URL,
    TEMPORAL_ADDRESS: config.TEMPORAL_ADDRESS,
    TEMPORAL_UI_PUBLIC_URL: config.TEMPORAL_UI_PUBLIC_URL,
    APP_SECRET: config.APP_SECRET,
    MAILBOX_TOKEN: config.MAILBOX_TOKEN,
    EMAIL_PROVIDER_URL: config.EMAIL_PROVIDER_URL,
    SMS_PROVIDER_URL: config.SMS_PROVIDER_URL,
    PUBLIC_URL: config.PUBLIC_URL,
    SUBMISSION_PORTS: portsText(config.SUBMISSION_PORTS),
    SUBMISSION_TLS_PORTS: portsText(config.SUBMISSION_TLS_PORTS),
  };
  const given = Object.fromEntries(Object.entries(texts).filter(([, value]) => value !== undefined));
  return {
    ...given,
    CARILLON_HOME,
    CARILLON_DEV: String(CARILLON_DEV),
    EGRESS_ALLOW: EGRESS_ALLOW.join(','),
    PORT: String(PORT),
    MAILBOX_PORT: String(MAILBOX_PORT),
    MAIL_PORT: String(MAIL_PORT),
  };
}
