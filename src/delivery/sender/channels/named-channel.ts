import { type ChannelSettings, createChannel } from './sending.ts';
import type { Keyring } from '../../../platform/secrets/keyring.ts';
import { createPreparePool } from '../../content/mime/prepare-pool.ts';
import type { ProviderDeps } from '../../wire/adapters/kind.ts';
import {
  callbackUrlOf,
  type NamedProvider,
  openProvider,
  type ProviderRow,
} from '../../wire/providers/named.ts';
import type { BatchMessage } from '../../ledger/intend/batch.ts';
import type { NamedShare, ProviderChannel } from '../compose/provider-channel.ts';

/** How long a message whose outcome is unknown waits for a callback about it. */
const REPORT_SECONDS = 120;

export interface NamedChannelDeps {
  keyring: Keyring;
  providers: ProviderDeps;
  settings: ChannelSettings;
  /** Records an opt-out that until now only the provider knew. Must return at once. */
  optOut: (message: BatchMessage) => void;
}

/** Opens the channels of named providers. */
export interface NamedChannels {
  /** @throws UnusableProviderError if this process cannot use the row */
  open(row: ProviderRow): ProviderChannel;
  /** Closes what the channels share. Close the channels first. */
  close(): Promise<void>;
}

function shareOf({ id, name, kind }: NamedProvider): NamedShare {
  const reports = kind.callbacks !== undefined && !kind.repeatable;
  return {
    providerId: id,
    provider: name,
    kind: kind.name,
    reportSeconds: reports ? REPORT_SECONDS : 0,
    repeatable: kind.repeatable,
  };
}

export function createNamedChannels({
  keyring,
  providers,
  settings,
  optOut,
}: NamedChannelDeps): NamedChannels {
  const threads = createPreparePool();
  const sharedThreads = { ...threads, close: () => Promise.resolve() };
  return {
    open(row) {
      const named = openProvider(row, keyring);
      const callbackUrl = callbackUrlOf(named, providers.config.PUBLIC_URL);
      const provider = named.kind.create(named.settings, { ...providers, callbackUrl, id: named.id });
      const share = shareOf(named);
      return createChannel(named.channel, provider, settings, {
        share,
        optOut,
        signs: named.kind.domains?.carillonSigns !== false,
        threads: sharedThreads,
      });
    },
    close: () => threads.close(),
  };
}
