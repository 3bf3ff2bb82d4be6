import { ConfigError, type Config } from '../../config.ts';
import { channelFacts } from '../channels/index.ts';
import type { Channel } from '../message.ts';
import { providers } from './index.ts';
import type { SettingsProviderDeps } from './kind.ts';
import type { EmailProvider, ProviderPorts, SmsProvider } from './port.ts';

/** @returns null if the channel's setting is not set */
function createFromSetting<C extends Channel>(
  channel: C,
  deps: SettingsProviderDeps,
): ProviderPorts[C] | null {
  const { setting } = channelFacts[channel];
  const text = deps.config[setting];
  if (text === undefined) return null;
  const ways = providers.flatMap((provider) => (provider.channel === channel ? (provider.url ?? []) : []));
  const known = ways.flatMap(({ schemes }) => schemes).join(', ');
  if (!URL.canParse(text)) throw new ConfigError(`${setting} is not a URL; it starts with one of: ${known}`);
  const url = new URL(text);
  const way = ways.find(({ schemes }) => schemes.includes(url.protocol));
  if (!way) throw new ConfigError(`${setting} starts with ${url.protocol}, which is not one of: ${known}`);
  return way.create(url, deps) as ProviderPorts[C];
}

/** @throws ConfigError if EMAIL_PROVIDER_URL is missing or its scheme is unknown */
export function createEmailProvider(deps: SettingsProviderDeps): EmailProvider {
  const provider = createFromSetting('email', deps);
  if (!provider) {
    throw new ConfigError(
      'EMAIL_PROVIDER_URL is not set; it says how mail is sent, e.g. smtp://user:password@relay.example.com:587',
    );
  }
  return provider;
}

/** @returns null if SMS_PROVIDER_URL is not set; text messages are then held */
export function createSmsProvider(deps: SettingsProviderDeps): SmsProvider | null {
  return createFromSetting('sms', deps);
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
  const { protocol } = new URL(text);
  return providers.find(({ url }) => url?.schemes.includes(protocol))?.name ?? protocol.slice(0, -1);
}
