import type pg from 'pg';
import { ConfigError, type Config } from '../../config.ts';
import type { Resolver } from '../../platform/dns/resolver.ts';
import { createCaptureProvider, createCaptureSmsProvider } from './capture/provider.ts';
import type { EmailProvider, SmsProvider } from './port.ts';
import { createSmtpProvider, smtpTargetFromUrl } from './smtp/hand-over.ts';

/** What the providers of the settings are built from. */
export interface DefaultProviderDeps {
  config: Config;
  pool: pg.Pool;
  resolver: Resolver;
}

/** Factories by URL scheme. A new provider is one file and one line here. */
const emailProviders: Record<string, (url: URL, deps: DefaultProviderDeps) => EmailProvider> = {
  'capture:': (_url, { pool }) => createCaptureProvider({ pool }),
  'smtp:': smtp,
  'smtps:': smtp,
};

const smsProviders: Record<string, (url: URL, deps: DefaultProviderDeps) => SmsProvider> = {
  'capture:': (_url, { pool }) => createCaptureSmsProvider({ pool }),
};

function smtp(url: URL, { config, resolver }: DefaultProviderDeps): EmailProvider {
  return createSmtpProvider({
    target: smtpTargetFromUrl(url, config.MAIL_DOMAIN),
    connections: config.SENDER_CONNECTIONS,
    resolver,
  });
}

function createFromSetting<Provider>(
  setting: 'EMAIL_PROVIDER_URL' | 'SMS_PROVIDER_URL',
  factories: Record<string, (url: URL, deps: DefaultProviderDeps) => Provider>,
  deps: DefaultProviderDeps,
): Provider | null {
  const text = deps.config[setting];
  if (text === undefined) return null;
  const known = Object.keys(factories).join(', ');
  if (!URL.canParse(text)) throw new ConfigError(`${setting} is not a URL; it starts with one of: ${known}`);
  const url = new URL(text);
  const create = factories[url.protocol];
  if (!create) throw new ConfigError(`${setting} starts with ${url.protocol}, which is not one of: ${known}`);
  return create(url, deps);
}

/** @throws ConfigError if EMAIL_PROVIDER_URL is missing or its scheme is unknown */
export function createEmailProvider(deps: DefaultProviderDeps): EmailProvider {
  const provider = createFromSetting('EMAIL_PROVIDER_URL', emailProviders, deps);
  if (!provider) {
    throw new ConfigError(
      'EMAIL_PROVIDER_URL is not set; it says how mail is sent, e.g. smtp://user:password@relay.example.com:587',
    );
  }
  return provider;
}

/** @returns null if SMS_PROVIDER_URL is not set; SMS then wait */
export function createSmsProvider(deps: DefaultProviderDeps): SmsProvider | null {
  return createFromSetting('SMS_PROVIDER_URL', smsProviders, deps);
}

/** Whether Carillon signs messages. `?dkim=off` leaves signing to the relay. */
export function signsMessages(config: Config): boolean {
  const text = config.EMAIL_PROVIDER_URL;
  if (text === undefined || !URL.canParse(text)) return true;
  return new URL(text).searchParams.get('dkim') !== 'off';
}

/** The name of the provider of EMAIL_PROVIDER_URL, as the API shows it. */
export function defaultEmailProvider({
  EMAIL_PROVIDER_URL: text,
}: Pick<Config, 'EMAIL_PROVIDER_URL'>): string {
  if (text === undefined || !URL.canParse(text)) return 'default';
  const scheme = new URL(text).protocol.slice(0, -1);
  return scheme === 'smtps' ? 'smtp' : scheme;
}
