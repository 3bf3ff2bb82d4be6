import type pg from 'pg';
import { ConfigError, type Config } from '../../config.ts';
import type { Resolver } from '../../platform/dns/resolver.ts';
import { createCaptureProvider, createCaptureSmsProvider } from './capture.ts';
import type { EmailProvider, SmsProvider } from './port.ts';
import { createSmtpProvider, smtpTargetFromUrl } from './smtp.ts';

export interface ProviderDeps {
  config: Config;
  pool: pg.Pool;
  resolver: Resolver;
}

/** Makers by URL scheme. A new provider is one file and one line here. */
const emailProviders: Record<string, (url: URL, deps: ProviderDeps) => EmailProvider> = {
  'capture:': (_url, { pool }) => createCaptureProvider({ pool }),
  'smtp:': smtp,
  'smtps:': smtp,
};

const smsProviders: Record<string, (url: URL, deps: ProviderDeps) => SmsProvider> = {
  'capture:': (_url, { pool }) => createCaptureSmsProvider({ pool }),
};

function smtp(url: URL, { config, resolver }: ProviderDeps): EmailProvider {
  return createSmtpProvider({
    target: smtpTargetFromUrl(url, config.MAIL_DOMAIN),
    connections: config.SENDER_CONNECTIONS,
    resolver,
  });
}

function make<Provider>(
  setting: 'EMAIL_PROVIDER_URL' | 'SMS_PROVIDER_URL',
  makers: Record<string, (url: URL, deps: ProviderDeps) => Provider>,
  deps: ProviderDeps,
): Provider | null {
  const text = deps.config[setting];
  if (text === undefined) return null;
  const known = Object.keys(makers).join(', ');
  if (!URL.canParse(text)) throw new ConfigError(`${setting} is not a URL; it starts with one of: ${known}`);
  const url = new URL(text);
  const maker = makers[url.protocol];
  if (!maker) throw new ConfigError(`${setting} begins with ${url.protocol}, which is none of: ${known}`);
  return maker(url, deps);
}

/** @throws ConfigError where EMAIL_PROVIDER_URL is missing or names nothing known */
export function createEmailProvider(deps: ProviderDeps): EmailProvider {
  const provider = make('EMAIL_PROVIDER_URL', emailProviders, deps);
  if (!provider) {
    throw new ConfigError(
      'EMAIL_PROVIDER_URL is not set: say how mail leaves, e.g. smtp://user:password@relay.example.com:587',
    );
  }
  return provider;
}

/** @returns null where SMS_PROVIDER_URL is not set: SMS then wait */
export function createSmsProvider(deps: ProviderDeps): SmsProvider | null {
  return make('SMS_PROVIDER_URL', smsProviders, deps);
}

/** Whether messages are signed here; `?dkim=off` leaves it to the relay. */
export function signsMessages(config: Config): boolean {
  const text = config.EMAIL_PROVIDER_URL;
  if (text === undefined || !URL.canParse(text)) return true;
  return new URL(text).searchParams.get('dkim') !== 'off';
}
