import { LRUCache } from 'lru-cache';
import { parseEmailAddress } from '../../terms/addresses/email.ts';
import { isHeavy } from '../../content/templates/content-weight.ts';
import { createPreparePool, type PreparePool } from '../../content/mime/prepare-pool.ts';
import { createStop, type Stop } from '../../../platform/processes/stop.ts';
import {
  type EmailProvider,
  type OutgoingMail,
  type HandOverResult,
  untried,
} from '../../wire/adapters/port.ts';
import type { BatchMessage } from '../../ledger/intend/batch.ts';
import { type ContentSources, isRendered } from '../compose/version-groups.ts';
import {
  type ChannelOptions,
  defaultShare,
  giveComposed,
  NO_CONTENT,
  type ProviderChannel,
} from '../compose/provider-channel.ts';
import { type ComposeDeps, composeEmail, createContentCache } from '../compose/compose-email.ts';
import { createWholeComposer, type WholeComposeDeps } from '../compose/compose-whole.ts';
import { createRenderedComposer } from './compose-rendered.ts';
import { handOverOnce } from './look-up.ts';

export interface EmailChannelSettings
  extends
    Pick<ComposeDeps, 'mailDomain' | 'signersFor' | 'domains' | 'links'>,
    Pick<WholeComposeDeps, 'letterFiles'> {
  /** Signs return paths. */
  returnPathKey: Buffer;
  /** Signs the references that providers keep. */
  referenceKey: Buffer;
  /** If absent, only messages with a stored content can be sent. */
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

type Composed = OutgoingMail | Error;

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

const noContents: ComposeBatch = (batch) => Promise.resolve(batch.map(() => new Error(NO_CONTENT)));

/** What messages are composed from; `letter` comes first, because a letter may also have a content version. */
type Source = 'letter' | 'version' | 'content';

function sourceOf(message: BatchMessage): Source {
  if (message.letter) return 'letter';
  return isRendered(message) ? 'version' : 'content';
}

function createComposer(settings: EmailChannelSettings, threads: PreparePool): ComposeBatch {
  const deps = composeDeps(settings, threads);
  const { contents } = settings;
  const composers: Record<Source, ComposeBatch> = {
    letter: createWholeComposer({ ...deps, prepareHeavy: threads.prepareWhole }),
    version: contents
      ? createRenderedComposer({ ...deps, prepareHeavy: threads.prepare }, contents)
      : noContents,
    content: (batch) => composeStored(batch, deps),
  };
  return async (batch) => {
    const groups = Map.groupBy(batch, sourceOf);
    const [source, ...others] = groups.keys();
    if (source !== undefined && others.length === 0) return composers[source](batch);
    const composed = new Map<BatchMessage, Composed | undefined>();
    const composeGroup = async ([from, messages]: [Source, BatchMessage[]]) => {
      const emails = await composers[from](messages);
      for (const [n, message] of messages.entries()) composed.set(message, emails[n]);
    };
    await Promise.all(Array.from(groups, composeGroup));
    return batch.map((message) => composed.get(message) ?? new Error('the message was not composed'));
  };
}

/** @param composed null: the stop came first */
async function giveTo(
  provider: EmailProvider,
  batch: readonly BatchMessage[],
  composed: readonly Composed[] | null,
  stop: Stop,
): Promise<HandOverResult[]> {
  if (!composed || stop.requested) return untried(batch);
  const uncertain = new Set(batch.flatMap((message) => (message.uncertain ? message.messageId : [])));
  return giveComposed(batch, composed, (emails) => handOverOnce(provider, emails, uncertain, stop));
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
 */
export function createEmailChannel(
  provider: EmailProvider,
  settings: EmailChannelSettings,
  { share = defaultShare(provider), signs = true, threads = createPreparePool() }: ChannelOptions = {},
): ProviderChannel {
  const isSigned = signs && provider.signing !== 'provider';
  const compose = createComposer(isSigned ? settings : { ...settings, signersFor: () => [] }, threads);
  const stop = createStop();
  const composeBatch = (batch: readonly BatchMessage[]) => stop.race(compose(batch));

  /** Hands over light messages first, because a thread may take seconds for a heavy one. */
  async function handOverWithHeavy(
    batch: readonly BatchMessage[],
    onComposed: (waitedMs: number) => void,
  ): Promise<HandOverResult[]> {
    const waited = createStopwatch();
    const [heavy = [], light = []] = [true, false].map((wanted) =>
      batch.filter((message) => isHeavy(weighed(message)) === wanted),
    );
    const composingHeavy = composeBatch(heavy);
    const outcomes = new Map<BatchMessage, HandOverResult>();
    const give = async (messages: BatchMessage[], composed: Composed[] | null) => {
      const given = await giveTo(provider, messages, composed, stop);
      for (const [index, outcome] of given.entries()) outcomes.set(messages[index] as BatchMessage, outcome);
    };
    await give(light, await waited.during(composeBatch(light)));
    const composed = await waited.during(composingHeavy);
    onComposed(waited.ms());
    await give(heavy, composed);
    return batch.map((message) => outcomes.get(message) as HandOverResult);
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
      return giveTo(provider, batch, composed, stop);
    },
    stop() {
      stop.request();
      provider.stop?.();
    },
    async close() {
      await provider.close();
      await threads.close();
    },
  };
}
