import { ConfigError, type Config } from '../../../config.ts';
import { channelFacts } from '../../terms/channels/index.ts';
import type { Channel } from '../../terms/message.ts';
import { providers } from './index.ts';
import type { SettingsProviderDeps } from '../adapters/kind.ts';
import type { ProviderPorts } from '../adapters/port.ts';

/**
 * Creates the provider that the setting of a channel names.
 * @returns null if the setting is not set, and need not be
 * @throws ConfigError if the setting is required and missing, or if its scheme is unknown
 */
export function createDefaultProvider<C extends Channel>(
  channel: C,
  deps: SettingsProviderDeps,
): ProviderPorts[C] | null {
  const { setting, required } = channelFacts[channel];
  const text = deps.config[setting];
  if (text === undefined) {
    if (required === null) return null;
    throw new ConfigError(`${setting} is not set; it says ${required}`);
  }
  const ways = providers.flatMap((provider) => (provider.channel === channel ? (provider.url ?? []) : []));
  const known = ways.flatMap(({ schemes }) => schemes).join(', ');
  if (!URL.canParse(text)) throw new ConfigError(`${setting} is not a URL; it starts with one of: ${known}`);
  const url = new URL(text);
  const way = ways.find(({ schemes }) => schemes.includes(url.protocol));
  if (!way) throw new ConfigError(`${setting} starts with ${url.protocol}, which is not one of: ${known}`);
  return way.create(url, deps) as ProviderPorts[C];
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
