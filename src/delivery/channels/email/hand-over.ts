import { LRUCache } from 'lru-cache';
import { parseEmailAddress } from '../../addresses/email.ts';
import { DEFAULT_PROVIDER, type QueueShare } from '../../backlog.ts';
import { isHeavy } from '../../contents/content-weight.ts';
import type { Channel } from '../../message.ts';
import { SendingDomainError } from '../../dkim/domain-signers.ts';
import { ThreadUnavailableError } from '../../../platform/processes/thread-pool.ts';
import { createPreparePool, type PreparePool, PrepareTimeoutError } from '../../mime/prepare-pool.ts';
import type {
  EmailProvider,
  OutgoingEmail,
  OutgoingSms,
  HandOverOutcome,
  SmsProvider,
} from '../../providers/port.ts';
import type { BatchMessage } from '../../send/intend/batch.ts';
import { type ComposeDeps, composeEmail, composeSms, createContentCache } from './compose.ts';
import { NotRenderedError, RenderTimeoutError } from '../../contents/content.ts';
import { createRenderedComposer, renderSms } from './compose-rendered.ts';
import { handOverOnce } from './look-up.ts';
import {
  type ContentSources,
  ContentUnavailableError,
  isRendered,
} from '../../send/compose/version-groups.ts';

/** A provider that serves a share of the queue. */
export interface ProviderChannel extends QueueShare {
  /** The name of a named provider, or the kind of the provider in the settings. */
  readonly provider: string;
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
   * @returns one outcome for each message, in the order of the batch
   */
  handOver(
    batch: readonly BatchMessage[],
    onComposed?: (waitedMs: number) => void,
  ): Promise<HandOverOutcome[]>;
  close(): Promise<void>;
}

/** The share that a channel serves, if it is not that of the default provider. */
export type NamedShare = Pick<ProviderChannel, 'providerId' | 'provider' | 'reportSeconds' | 'repeatable'>;

/** The share of the provider of EMAIL_PROVIDER_URL or SMS_PROVIDER_URL. */
const defaultShare = ({ name }: { name: string }): NamedShare => ({
  providerId: DEFAULT_PROVIDER,
  provider: name,
  reportSeconds: 0,
});

export interface EmailChannelSettings extends Pick<
  ComposeDeps,
  'mailDomain' | 'signersFor' | 'domains' | 'links'
> {
  /** Signs return paths. */
  returnPathKey: Buffer;
  /** Signs the references that providers keep. */
  referenceKey: Buffer;
  /** Left out: only messages with a stored content can be sent. */
  contents?: ContentSources;
}

const MAX_CACHED_SENDERS = 1_000;
const MAX_CACHED_SENDER_CHARACTERS = 1_000_000;

function composeDeps(settings: EmailChannelSettings, threads: PreparePool): ComposeDeps {
  const senders = new LRUCache<string, ReturnType<typeof parseEmailAddress>>({
    max: MAX_CACHED_SENDERS,
    maxSize: MAX_CACHED_SENDER_CHARACTERS,
    // The cache accepts no entry of size 0, and the text may be empty.
    sizeCalculation: (_parsed, text) => text.length + 1,
    memoMethod: (text) => parseEmailAddress(text),
  });
  return {
    ...settings,
    readSender: (text) => senders.memo(text),
    prepare: createContentCache(threads.prepare),
  };
}

type Composed = OutgoingEmail | Error;

/** Composes messages. A message that cannot become an email yields an error in its place. */
type ComposeBatch = (batch: readonly BatchMessage[]) => Promise<Composed[]>;

/** Composes messages whose contents are stored. */
async function composeStored(batch: readonly BatchMessage[], deps: ComposeDeps): Promise<Composed[]> {
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

const NO_CONTENT = 'the message has no content';
const noContents: ComposeBatch = (batch) => Promise.resolve(batch.map(() => new Error(NO_CONTENT)));

function createComposer(settings: EmailChannelSettings, threads: PreparePool): ComposeBatch {
  const deps = composeDeps(settings, threads);
  const { contents } = settings;
  const composeRendered = contents
    ? createRenderedComposer({ ...deps, prepareHeavy: threads.prepare }, contents)
    : noContents;
  return async (batch) => {
    const [rendered = [], stored = []] = [true, false].map((wanted) =>
      batch.filter((message) => isRendered(message) === wanted),
    );
    if (rendered.length === 0) return composeStored(batch, deps);
    if (stored.length === 0) return composeRendered(batch);
    const [ofRendered, ofStored] = await Promise.all([
      composeRendered(rendered),
      composeStored(stored, deps),
    ]);
    const composed = new Map([
      ...rendered.map((message, n) => [message, ofRendered[n]] as const),
      ...stored.map((message, n) => [message, ofStored[n]] as const),
    ]);
    return batch.map((message) => composed.get(message) ?? new Error('the message was not composed'));
  };
}

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
    (isTimeout && attempt < MAX_TIMEOUT_ATTEMPTS);
  return { kind: 'not_composed', final: !temporary, response: error.message };
}

async function giveTo(
  provider: EmailProvider,
  batch: readonly BatchMessage[],
  composed: readonly Composed[],
): Promise<HandOverOutcome[]> {
  const uncertain = new Set(batch.flatMap((message) => (message.uncertain ? message.messageId : [])));
  return giveComposed(batch, composed, (emails) => handOverOnce(provider, emails, uncertain));
}

/** Gives the provider the messages that could be composed. */
async function giveComposed<Message extends object>(
  batch: readonly BatchMessage[],
  composed: readonly (Message | Error)[],
  give: (messages: Message[]) => Promise<HandOverOutcome[]>,
): Promise<HandOverOutcome[]> {
  const messages = composed.filter((message): message is Message => !(message instanceof Error));
  const outcomes = messages.length > 0 ? await give(messages) : [];
  let next = 0;
  return batch.map((message, index): HandOverOutcome => {
    const found = composed[index];
    if (found instanceof Error) return notComposed(found, message);
    return outcomes[next++] ?? { kind: 'unknown', reason: 'the provider reported no outcome' };
  });
}

/** Adds up how long promises take to settle. */
function createStopwatch() {
  let total = 0;
  return {
    ms: () => total,
    async during<T>(work: Promise<T>): Promise<T> {
      const startedAt = performance.now();
      try {
        return await work;
      } finally {
        total += performance.now() - startedAt;
      }
    },
  };
}

const weighed = ({ html, text, headers }: BatchMessage) => ({ html, text, headers: headers ?? {} });

/**
 * Sends emails through a provider. A message that cannot be composed is `not_composed`; the others of its batch are
 * sent.
 * @param threads prepare heavy contents; closed with the channel
 * @param share by default that of the provider in the settings
 */
export function createEmailChannel(
  provider: EmailProvider,
  settings: EmailChannelSettings,
  threads: PreparePool = createPreparePool(),
  share: NamedShare = defaultShare(provider),
): ProviderChannel {
  const composeBatch = createComposer(settings, threads);

  /** Hands over light messages first, because a thread may take seconds for a heavy one. */
  async function handOverWithHeavy(
    batch: readonly BatchMessage[],
    onComposed: (waitedMs: number) => void,
  ): Promise<HandOverOutcome[]> {
    const waited = createStopwatch();
    const [heavy = [], light = []] = [true, false].map((wanted) =>
      batch.filter((message) => isHeavy(weighed(message)) === wanted),
    );
    const composingHeavy = composeBatch(heavy);
    const outcomes = new Map<BatchMessage, HandOverOutcome>();
    const give = async (messages: BatchMessage[], composed: Composed[]) => {
      const given = await giveTo(provider, messages, composed);
      for (const [index, outcome] of given.entries()) outcomes.set(messages[index] as BatchMessage, outcome);
    };
    await give(light, await waited.during(composeBatch(light)));
    const composed = await waited.during(composingHeavy);
    onComposed(waited.ms());
    await give(heavy, composed);
    return batch.map((message) => outcomes.get(message) as HandOverOutcome);
  }

  return {
    channel: 'email',
    ...share,
    concurrency: provider.concurrency,
    async handOver(batch, onComposed = () => undefined) {
      if (batch.some((message) => isHeavy(weighed(message)))) return handOverWithHeavy(batch, onComposed);
      const waited = createStopwatch();
      const composed = await waited.during(composeBatch(batch));
      onComposed(waited.ms());
      return giveTo(provider, batch, composed);
    },
    async close() {
      await provider.close();
      await threads.close();
    },
  };
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

/** Composes SMS. Messages without a stored content are rendered. */
async function composeAllSms(
  batch: readonly BatchMessage[],
  referenceKey: Buffer,
  contents: ContentSources | undefined,
): Promise<(OutgoingSms | Error)[]> {
  if (!batch.some(isRendered)) return batch.map((message) => composeSms(message, referenceKey));
  const messages = batch.filter(isRendered);
  const results = contents ? await renderSms(messages, contents) : messages.map(() => new Error(NO_CONTENT));
  const texts = new Map(messages.map((message, n) => [message, results[n]]));
  return batch.map((message) => {
    const rendered = texts.get(message);
    return rendered instanceof Error ? rendered : composeSms({ ...message, ...rendered }, referenceKey);
  });
}

const isOptOut = (outcome: HandOverOutcome | undefined): boolean =>
  outcome?.kind === 'refused' && outcome.optedOut === true;

export interface SmsChannelOptions {
  /** By default that of the provider in the settings. */
  share?: NamedShare;
  /**
   * Called for each message that the provider refused because its recipient has opted out there. Must return at once.
   */
  optOut?: (message: BatchMessage) => void;
  /** Left out: only messages with a stored content can be sent. */
  contents?: ContentSources | undefined;
}

/**
 * Sends SMS through a provider.
 * @param referenceKey signs the references that providers keep
 */
export function createSmsChannel(
  provider: SmsProvider,
  referenceKey: Buffer,
  { share = defaultShare(provider), optOut = () => undefined, contents }: SmsChannelOptions = {},
): ProviderChannel {
  return {
    channel: 'sms',
    ...share,
    concurrency: provider.concurrency,
    async handOver(batch) {
      const composed = await composeAllSms(batch, referenceKey, contents);
      const outcomes = await giveComposed(batch, composed, (messages) => provider.handOver(messages));
      const refused = batch.filter((_, index) => isOptOut(outcomes[index]));
      refused.forEach((message) => optOut(message));
      return outcomes.map((outcome, index) => {
        const sms = composed[index];
        if (outcome.kind !== 'accepted' || sms === undefined || sms instanceof Error) return outcome;
        return { ...outcome, segments: sms.segments };
      });
    },
    close: () => provider.close(),
  };
}
