import { createSecretKey } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { parseEmailAddress } from '../addresses/email.ts';
import type { Channel } from '../message.ts';
import type { EmailProvider, OutgoingEmail, HandOverOutcome, SmsProvider } from '../providers/port.ts';
import type { BatchMessage } from './batch.ts';
import { type ComposeDeps, composeEmail, composeSms, createContentCache } from './compose.ts';

/** Hands a window to whatever serves a channel. Outcomes come in the window's order. */
export interface ProviderChannel {
  readonly channel: Channel;
  readonly provider: string;
  readonly concurrency: number;
  handOver(window: readonly BatchMessage[]): Promise<HandOverOutcome[]>;
  close(): Promise<void>;
}

/** What composing needs; the key as bytes. */
interface EmailChannelSettings extends Pick<ComposeDeps, 'mailDomain' | 'signersFor'> {
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

/** A whole window composed; what cannot be is an error in its place. Waits only where keys sign. */
async function composeWindow(
  window: readonly BatchMessage[],
  deps: ComposeDeps,
): Promise<(OutgoingEmail | Error)[]> {
  const composing = window.map((message) => {
    try {
      const email = composeEmail(message, deps);
      return email instanceof Promise ? email.catch((error: unknown) => error as Error) : email;
    } catch (error) {
      return error as Error;
    }
  });
  return Promise.all(composing.map((email) => Promise.resolve(email)));
}

/** Emails: composed first; one that cannot be composed is refused alone. */
export function createEmailChannel(provider: EmailProvider, settings: EmailChannelSettings): ProviderChannel {
  const deps = composeDeps(settings);
  return {
    channel: 'email',
    provider: provider.name,
    concurrency: provider.concurrency,
    async handOver(window) {
      const composed = await composeWindow(window, deps);
      const emails = composed.filter((email): email is OutgoingEmail => !(email instanceof Error));
      const outcomes = emails.length > 0 ? await provider.handOver(emails) : [];
      let next = 0;
      return composed.map((email): HandOverOutcome => {
        if (email instanceof Error)
          return { kind: 'refused', code: 'content_rejected', response: email.message };
        return outcomes[next++] ?? { kind: 'unknown', reason: 'the provider gave no outcome' };
      });
    },
    close: () => provider.close(),
  };
}

export function createSmsChannel(provider: SmsProvider): ProviderChannel {
  return {
    channel: 'sms',
    provider: provider.name,
    concurrency: provider.concurrency,
    handOver: (window) => provider.handOver(window.map(composeSms)),
    close: () => provider.close(),
  };
}
