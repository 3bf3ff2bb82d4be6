import { createSecretKey } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { parseEmailAddress } from '../addresses/email.ts';
import type { Channel } from '../message.ts';
import type { EmailProvider, OutgoingEmail, HandOverOutcome, SmsProvider } from '../providers/port.ts';
import type { BatchMessage } from './batch.ts';
import { type ComposeDeps, composeEmail, composeSms, createContentCache } from './compose.ts';

/** A provider that serves a channel. */
export interface ProviderChannel {
  readonly channel: Channel;
  readonly provider: string;
  /** How many batches the provider takes at once. */
  readonly concurrency: number;
  /** Hands a batch over. Returns one outcome for each message, in the order of the batch. */
  handOver(batch: readonly BatchMessage[]): Promise<HandOverOutcome[]>;
  close(): Promise<void>;
}

interface EmailChannelSettings extends Pick<ComposeDeps, 'mailDomain' | 'signersFor'> {
  /** Signs return paths. */
  returnPathKey: Buffer;
}

const MAX_CACHED_SENDERS = 1_000;
const MAX_CACHED_SENDER_CHARACTERS = 1_000_000;

function composeDeps(settings: EmailChannelSettings): ComposeDeps {
  const senders = new LRUCache<string, ReturnType<typeof parseEmailAddress>>({
    max: MAX_CACHED_SENDERS,
    maxSize: MAX_CACHED_SENDER_CHARACTERS,
    // The cache accepts no entry of size 0, and the text may be empty.
    sizeCalculation: (_parsed, text) => text.length + 1,
    memoMethod: (text) => parseEmailAddress(text),
  });
  return {
    ...settings,
    returnPathKey: createSecretKey(settings.returnPathKey),
    readSender: (text) => senders.memo(text),
    prepare: createContentCache(),
  };
}

/** Composes a batch. A message that cannot become an email is an error in its place. */
async function composeBatch(
  batch: readonly BatchMessage[],
  deps: ComposeDeps,
): Promise<(OutgoingEmail | Error)[]> {
  const composing = batch.map((message) => {
    try {
      const email = composeEmail(message, deps);
      return email instanceof Promise ? email.catch((error: unknown) => error as Error) : email;
    } catch (error) {
      return error as Error;
    }
  });
  return Promise.all(composing.map((email) => Promise.resolve(email)));
}

/** Sends emails through a provider. A message that cannot be composed is refused; the others of its batch are sent. */
export function createEmailChannel(provider: EmailProvider, settings: EmailChannelSettings): ProviderChannel {
  const deps = composeDeps(settings);
  return {
    channel: 'email',
    provider: provider.name,
    concurrency: provider.concurrency,
    async handOver(batch) {
      const composed = await composeBatch(batch, deps);
      const emails = composed.filter((email): email is OutgoingEmail => !(email instanceof Error));
      const outcomes = emails.length > 0 ? await provider.handOver(emails) : [];
      let next = 0;
      return composed.map((email): HandOverOutcome => {
        if (email instanceof Error)
          return { kind: 'refused', code: 'content_rejected', response: email.message };
        return outcomes[next++] ?? { kind: 'unknown', reason: 'the provider reported no outcome' };
      });
    },
    close: () => provider.close(),
  };
}

/** Sends SMS through a provider. */
export function createSmsChannel(provider: SmsProvider): ProviderChannel {
  return {
    channel: 'sms',
    provider: provider.name,
    concurrency: provider.concurrency,
    handOver: (batch) => provider.handOver(batch.map(composeSms)),
    close: () => provider.close(),
  };
}
