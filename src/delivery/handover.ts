import type { EmailProvider, OutgoingEmail } from '../providers/email/port.ts';
import type { HandOverOutcome } from '../providers/outcome.ts';
import type { SmsProvider } from '../providers/sms/port.ts';
import type { Channel } from './claim.ts';
import { type ComposeDeps, composeEmail, composeSms } from './compose.ts';
import { createContentCache } from './content-cache.ts';
import type { WindowMessage } from './intend.ts';

/** Hands a window to whatever serves a channel. Outcomes come in the window's order. */
export interface Route {
  readonly channel: Channel;
  readonly provider: string;
  readonly concurrency: number;
  handOver(window: readonly WindowMessage[]): Promise<HandOverOutcome[]>;
  close(): Promise<void>;
}

/** Emails: composed first; one that cannot be composed is refused alone. */
export function createEmailRoute(provider: EmailProvider, settings: Omit<ComposeDeps, 'prepare'>): Route {
  const deps: ComposeDeps = { ...settings, prepare: createContentCache() };
  return {
    channel: 'email',
    provider: provider.name,
    concurrency: provider.concurrency,
    async handOver(window) {
      const composed = await Promise.all(
        window.map((message) => composeEmail(message, deps).catch((error: unknown) => error as Error)),
      );
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
