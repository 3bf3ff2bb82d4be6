/** How each channel sends: the list of channels for senders. Other processes read only `index.ts`. */
import { createDefaultProvider } from '../../wire/providers/settings-url.ts';
import type { SettingsProviderDeps } from '../../wire/adapters/kind.ts';
import type { ProviderPorts } from '../../wire/adapters/port.ts';
import {
  type ChannelOptions,
  createMissingChannel,
  type ProviderChannel,
} from '../compose/provider-channel.ts';
import { createEmailChannel, type EmailChannelSettings } from '../email/hand-over.ts';
import { type Channel, channelFacts } from '../../terms/channels/index.ts';
import { createSmsChannel, type SmsChannelSettings } from '../sms/hand-over.ts';

/** What the channels compose with, whatever the provider. */
export type ChannelSettings = EmailChannelSettings & SmsChannelSettings;

const creators: {
  [C in Channel]: (
    provider: ProviderPorts[C],
    settings: ChannelSettings,
    options?: ChannelOptions,
  ) => ProviderChannel;
} = { email: createEmailChannel, sms: createSmsChannel };

/** Sends messages of a channel through a provider. */
export const createChannel = <C extends Channel>(
  channel: C,
  provider: ProviderPorts[C],
  settings: ChannelSettings,
  options?: ChannelOptions,
): ProviderChannel => creators[channel](provider, settings, options);

/**
 * Sends messages of a channel through the provider in its setting. Without one, messages are held.
 * @throws ConfigError if the setting is wrong, or if it is missing and required
 */
export function createDefaultChannel(
  channel: Channel,
  deps: SettingsProviderDeps,
  settings: ChannelSettings,
): ProviderChannel {
  const provider = createDefaultProvider(channel, deps);
  return provider
    ? createChannel(channel, provider, settings)
    : createMissingChannel(channel, `${channelFacts[channel].setting} is not set`);
}
