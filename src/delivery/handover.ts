import { createSecretKey } from 'node:crypto';
import { parseEmailAddress } from '../addresses/email.ts';
import type { EmailProvider, OutgoingEmail } from '../providers/email/port.ts';
import type { HandOverOutcome } from '../providers/outcome.ts';
import type { SmsProvider } from '../providers/sms/port.ts';
import type { Channel } from './claim.ts';
import { type ComposeDeps, composeEmail, composeSms } from './compose.ts';
import { createContentCache } from './content-cache.ts';
import type { WindowMessage } from './intend.ts';
import { createRecent } from './recent.ts';

/** Hands a window to whatever serves a channel. Outcomes come in the window's order. */
export interface Route {
  readonly channel: Channel;
  readonly provider: string;
  readonly concurrency: number;
  handOver(window: readonly WindowMessage[]): Promise<HandOverOutcome[]>;
  close(): Promise<void>;
}

/** What composing needs; the key as bytes. */
interface EmailRouteSettings extends Pick<ComposeDeps, 'mailDomain' | 'signersFor'> {
  returnPathKey: Buffer;
}

const SENDERS_KNOWN = { entries: 1_000, size: 1_000_000 };

function composeDeps(settings: EmailRouteSettings): ComposeDeps {
  const senders = createRecent<ReturnType<typeof parseEmailAddress>>(SENDERS_KNOWN, (text) => text.length);
  return {
    ...settings,
    returnPathKey: createSecretKey(settings.returnPathKey),
    readSender: (text) => senders.get(text, () => parseEmailAddress(text)),
    prepare: createContentCache(),
  };
}

/** A whole window composed; what cannot be is an error in its place. Waits only where keys sign. */
async function composeWindow(
  window: readonly WindowMessage[],
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
export function createEmailRoute(provider: EmailProvider, settings: EmailRouteSettings): Route {
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

export function createSmsRoute(provider: SmsProvider): Route {
  return {
    channel: 'sms',
    provider: provider.name,
    concurrency: provider.concurrency,
    handOver: (window) => provider.handOver(window.map(composeSms)),
    close: () => provider.close(),
  };
}
