/** The channel to one provider: its interface to the sender's loop, and what the hand-overs of all channels share. */
import { DEFAULT_PROVIDER, type QueueShare } from '../../terms/backlog.ts';
import { NotRenderedError, RenderTimeoutError } from '../../content/templates/content.ts';
import { SendingDomainError } from '../../content/dkim/domain-signers.ts';
import type { Channel } from '../../terms/message.ts';
import { type PreparePool, PrepareTimeoutError } from '../../content/mime/prepare-pool.ts';
import type { HandOverResult } from '../../wire/adapters/port.ts';
import type { HandOverOutcome } from '../../terms/hand-over-outcome.ts';
import { ThreadUnavailableError } from '../../../platform/processes/thread-pool.ts';
import { FileUnreadableError } from './letter-files.ts';
import { ContentUnavailableError } from './version-groups.ts';
import type { BatchMessage } from '../../ledger/intend/batch.ts';

/** A provider that serves a share of the queue. */
export interface ProviderChannel extends QueueShare {
  /** The name of a named provider, or the kind of the provider in the settings. */
  readonly provider: string;
  /** The kind of a named provider. */
  readonly kind?: string;
  /**
   * How long a message whose outcome is unknown waits for a report before it is handed over again. 0 if the provider
   * sends no reports, or if repeating is safe.
   */
  readonly reportSeconds: number;
  /** Whether the provider recognizes a message that it already has, so that a hand-over can be repeated safely. */
  readonly repeatable?: boolean;
  /** Set if there is no provider. Messages are held until they expire. */
  readonly missing?: true;
  /** How many batches the provider takes at once. */
  readonly concurrency: number;
  /**
   * Hands a batch over.
   * @param onComposed called when the whole batch is composed, with the milliseconds that the provider had to wait for
   *   it. Channels that compose at once need not call it.
   * @returns one outcome for each message, in the order of the batch; after {@link ProviderChannel.stop}, some may be
   *   open
   */
  handOver(
    batch: readonly BatchMessage[],
    onComposed?: (waitedMs: number) => void,
  ): Promise<HandOverResult[]>;
  /** Composes and hands over nothing more, see `stop` in `providers/port.ts`. Call it before {@link ProviderChannel.close}. */
  stop?(): void;
  close(): Promise<void>;
}

/** The share that a channel serves, if it is not that of the default provider. */
export type NamedShare = Pick<
  ProviderChannel,
  'providerId' | 'provider' | 'kind' | 'reportSeconds' | 'repeatable'
>;

/** The share of the provider of EMAIL_PROVIDER_URL or SMS_PROVIDER_URL. */
export const defaultShare = ({ name }: { name: string }): NamedShare => ({
  providerId: DEFAULT_PROVIDER,
  provider: name,
  reportSeconds: 0,
});

/** What differs between channels to several providers. */
export interface ChannelOptions {
  /** By default that of the provider in the settings. */
  share?: NamedShare;
  /**
   * Called for each message that the provider refused because its recipient has opted out there. Must return at once.
   */
  optOut?: (message: BatchMessage) => void;
  /** Emails only: whether Carillon signs; if false, the provider does. */
  signs?: boolean;
  /** Emails only: prepare heavy contents, and are closed with the channel. By default it has its own. */
  threads?: PreparePool;
}

export const NO_CONTENT = 'the message has no content';

/** The attempt from which on a time-out of a thread is blamed on the content. Before, the machine may just be busy. */
const MAX_TIMEOUT_ATTEMPTS = 3;

/** The outcome of a message that could not be composed. */
function notComposed(error: Error, { attempt }: BatchMessage): HandOverOutcome {
  // The message returns to the queue and is rendered in another batch.
  if (error instanceof NotRenderedError) return { kind: 'not_tried' };
  const isTimeout = error instanceof PrepareTimeoutError || error instanceof RenderTimeoutError;
  const temporary =
    error instanceof ThreadUnavailableError ||
    error instanceof SendingDomainError ||
    error instanceof ContentUnavailableError ||
    error instanceof FileUnreadableError ||
    (isTimeout && attempt < MAX_TIMEOUT_ATTEMPTS);
  return { kind: 'not_composed', final: !temporary, response: error.message };
}

/** Gives the provider the messages that could be composed. */
export async function giveComposed<Message extends object>(
  batch: readonly BatchMessage[],
  composed: readonly (Message | Error)[],
  give: (messages: Message[]) => Promise<HandOverResult[]>,
): Promise<HandOverResult[]> {
  const messages = composed.filter((message): message is Message => !(message instanceof Error));
  const outcomes = messages.length > 0 ? await give(messages) : [];
  let next = 0;
  return batch.map((message, index): HandOverResult => {
    const found = composed[index];
    if (found instanceof Error) return notComposed(found, message);
    return outcomes[next++] ?? { kind: 'unknown', reason: 'the provider reported no outcome' };
  });
}

/**
 * The channel of a default provider that is missing in the settings. It hands nothing over.
 * @param reason for operators
 */
export function createMissingChannel(channel: Channel, reason: string): ProviderChannel {
  return {
    channel,
    providerId: DEFAULT_PROVIDER,
    provider: 'none',
    missing: true,
    reportSeconds: 0,
    concurrency: 1,
    handOver: (batch) => Promise.resolve(batch.map(() => ({ kind: 'fault', reason }))),
    close: () => Promise.resolve(),
  };
}
