import { messageReference } from '../../terms/addresses/reference.ts';
import { NotRenderedError, RenderError } from '../../content/templates/content.ts';
import { MAX_SMS_SEGMENTS } from '../../content/templates/sms-text.ts';
import { countSegments } from '../../terms/texts/sms-segments.ts';
import { createStop } from '../../../platform/processes/stop.ts';
import { onceKnown, type OutgoingSms, type SmsProvider, untried } from '../../wire/adapters/port.ts';
import type { HandOverOutcome } from '../../terms/hand-over-outcome.ts';
import { composeByVersion, type ContentSources, isRendered, renderingOf } from '../compose/version-groups.ts';
import type { BatchMessage } from '../../ledger/intend/batch.ts';
import {
  type ChannelOptions,
  defaultShare,
  giveComposed,
  NO_CONTENT,
  type ProviderChannel,
} from '../compose/provider-channel.ts';

function composeSms(message: BatchMessage, referenceKey: Buffer): OutgoingSms {
  return {
    messageId: message.messageId,
    attempt: message.attempt,
    from: message.from,
    reference: messageReference(referenceKey, message),
    to: message.to,
    text: message.text ?? '',
    segments: message.segments ?? 1,
  };
}

/** Renders SMS. @returns the text with its segments, or an error, for each message */
function renderSms(
  messages: readonly BatchMessage[],
  contents: ContentSources,
): Promise<({ text: string; segments: number } | Error)[]> {
  return composeByVersion(messages, contents, async (group, of) => {
    const values = group.map((message) => renderingOf(message, of, contents.pages).values);
    const rendered = await contents.engine.renderBatch(of.version, values);
    return group.map((_, n) => {
      const content = rendered[n] ?? new NotRenderedError('the message was not rendered');
      if (content instanceof Error) return content;
      const text = content.text?.trim() ?? '';
      const { segments } = countSegments(text);
      if (text === '') return new RenderError('the text is empty');
      return segments > MAX_SMS_SEGMENTS
        ? new RenderError(`the text takes ${segments} segments; at most ${MAX_SMS_SEGMENTS} are sent`)
        : { text, segments };
    });
  });
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

const isOptOut = (outcome: HandOverOutcome): boolean =>
  outcome.kind === 'refused' && outcome.optedOut === true;

export interface SmsChannelSettings {
  /** Signs the references that providers keep. */
  referenceKey: Buffer;
  /** If absent, only messages with a stored content can be sent. */
  contents?: ContentSources;
}

/** Sends SMS through a provider. */
export function createSmsChannel(
  provider: SmsProvider,
  { referenceKey, contents }: SmsChannelSettings,
  { share = defaultShare(provider), optOut = () => undefined }: ChannelOptions = {},
): ProviderChannel {
  const stop = createStop();
  return {
    channel: 'sms',
    ...share,
    concurrency: provider.concurrency,
    async handOver(batch) {
      const composed = await stop.race(composeAllSms(batch, referenceKey, contents));
      if (!composed || stop.requested) return untried(batch);
      const results = await giveComposed(batch, composed, (messages) => provider.handOver(messages));
      return batch.map((message, index) =>
        onceKnown(results[index] ?? { kind: 'unknown', reason: 'no outcome' }, (outcome) => {
          const sms = composed[index];
          if (isOptOut(outcome)) optOut(message);
          if (outcome.kind !== 'accepted' || sms === undefined || sms instanceof Error) return outcome;
          return { ...outcome, segments: sms.segments };
        }),
      );
    },
    stop() {
      stop.request();
      provider.stop?.();
    },
    close: () => provider.close(),
  };
}
