/**
 * Composes messages that are rendered from the version of a content, such as those of campaigns. A message that is handed
 * over again is rendered again, with the values that its contact has then.
 */
import { type EmailAddress, parseEmailAddress } from '../../addresses/email.ts';
import { messageReference } from '../../addresses/reference.ts';
import { isHeavy } from '../../contents/content-weight.ts';
import { NotRenderedError, RenderError, type RenderedContent } from '../../contents/content.ts';
import { ReadLimit } from '../../contents/render-outputs.ts';
import { MAX_SMS_SEGMENTS } from '../../contents/sms-text.ts';
import { headerText } from '../../contents/values.ts';
import type { SendingDomain } from '../../dkim/domain-signers.ts';
import {
  type BuiltMessage,
  type EmailContent,
  type PreparedContent,
  prepareContent,
} from '../../mime/message.ts';
import type { Skeleton, SkeletonRecipient } from '../../rendering/skeleton.ts';
import { addToHtmlLinks, addToTextLinks } from '../../mime/utm.ts';
import type { OutgoingEmail } from '../../providers/port.ts';
import { countSegments } from '../../money/sms-segments.ts';
import type { BatchMessage } from '../intend/batch.ts';
import { addressEmail, type ComposeDeps, outgoingEmail, sendingDomainOf, valid } from './compose.ts';
import {
  composeByVersion,
  type ContentSources,
  type Rendering,
  renderingOf,
  type VersionGroup,
} from './version-groups.ts';
import { BULK_HEADERS, createSkeletons, feedbackIdOf, renderSubject } from '../../rendering/skeletons.ts';

/** The parts of an email that was built from a skeleton, for providers that do not take a complete message. */
class SkeletonParts implements EmailContent {
  readonly subject: string;
  readonly from: EmailAddress;
  readonly replyTo: EmailAddress | null;
  readonly headers: Record<string, string>;
  readonly feedbackId: string;
  readonly #skeleton: Skeleton;
  readonly #recipient: SkeletonRecipient;

  constructor({ from, replyTo, feedbackId, skeleton, recipient }: SkeletonEmail) {
    this.subject = recipient.subject;
    this.from = from;
    this.replyTo = replyTo;
    this.headers = { ...recipient.headers, ...BULK_HEADERS };
    this.feedbackId = feedbackId;
    this.#skeleton = skeleton;
    this.#recipient = recipient;
  }

  get html(): string {
    return this.#skeleton.html(this.#recipient);
  }

  get text(): string {
    return this.#skeleton.text(this.#recipient);
  }
}

interface SkeletonEmail {
  from: EmailAddress;
  replyTo: EmailAddress | null;
  feedbackId: string;
  skeleton: Skeleton;
  recipient: SkeletonRecipient;
}

type Composed = OutgoingEmail | Promise<OutgoingEmail>;

/** A message with its sending domain. */
interface Addressed extends Rendering {
  sending: SendingDomain | null;
}

function addressesOf(message: BatchMessage, deps: Pick<ComposeDeps, 'readSender'>) {
  return {
    from: valid(deps.readSender(message.from ?? ''), 'from'),
    to: valid(parseEmailAddress(message.to), 'to'),
    replyTo: message.replyTo === null ? null : valid(deps.readSender(message.replyTo), 'reply_to'),
  };
}

/** Composes messages from skeletons. */
function createFastComposer(deps: ComposeDeps, contents: ContentSources) {
  const { links } = deps;
  const skeletonOf = createSkeletons({ ...deps, engine: contents.engine });
  /**
   * @param limit what the messages of the group may read together
   * @returns null if the message has to be composed as a whole
   */
  return (
    { message, values, headers, sending }: Addressed,
    group: VersionGroup,
    limit: ReadLimit,
  ): Composed | null => {
    const divided = skeletonOf(message, group);
    if (!divided) return null;
    const { from, to, replyTo } = addressesOf(message, deps);
    const { skeleton } = divided;
    const subject = renderSubject(divided.subject, values, limit);
    const html = divided.html.render(values, limit);
    const text = divided.text.render(values, limit);
    if (subject === null || !html || !text) return null;
    const reference = messageReference(deps.referenceKey, message);
    const recipient: SkeletonRecipient = {
      to,
      messageId: `${reference}@${deps.mailDomain}`,
      date: message.createdAt,
      subject,
      headers,
      html,
      text,
      recipientToken: links?.plan(message) ? links.recipientToken(message) : '',
    };
    const building = skeleton.build(recipient, deps.signersFor(from.domain, sending));
    if (!building) return null;
    const feedbackId = feedbackIdOf(message);
    const content = new SkeletonParts({ from, replyTo, feedbackId, skeleton, recipient });
    const outgoing = (built: BuiltMessage) =>
      outgoingEmail(message, { content, built, reference, to, sending }, deps);
    return building instanceof Promise ? building.then(outgoing) : outgoing(building);
  };
}

interface WholeDeps extends ComposeDeps {
  /** Prepares a heavy content in a thread. */
  prepareHeavy: (content: EmailContent) => Promise<PreparedContent>;
}

/** Composes a message that was rendered as a whole. */
async function composeWhole(
  { message, values, headers, sending }: Addressed,
  { subject, html, text }: RenderedContent,
  { shared: { linkParameters } }: VersionGroup,
  deps: WholeDeps,
): Promise<OutgoingEmail> {
  const { from, to, replyTo } = addressesOf(message, deps);
  const isOwn = (url: string) => url === values.unsubscribe_url || url === values.preferences_url;
  const hasParameters = linkParameters.length > 0;
  const content: EmailContent = {
    subject: headerText(subject ?? ''),
    html: hasParameters && html !== null ? addToHtmlLinks(html, linkParameters, isOwn) : html,
    text: hasParameters && text !== null ? addToTextLinks(text, linkParameters, isOwn) : text,
    from,
    replyTo,
    headers: { ...headers, ...BULK_HEADERS },
    feedbackId: feedbackIdOf(message),
    tracking: html === null ? null : (deps.links?.plan(message) ?? null),
  };
  // Not cached: it differs for each recipient.
  const prepared = isHeavy(content) ? await deps.prepareHeavy(content) : prepareContent(content);
  return addressEmail(message, { content, prepared, to, sending }, deps);
}

const asError = (error: unknown): Error => error as Error;

/**
 * Returns a function that composes messages from their versions.
 * @returns an error in the place of a message that could not be composed
 */
export function createRenderedComposer(
  deps: WholeDeps,
  contents: ContentSources,
): (messages: readonly BatchMessage[]) => Promise<(OutgoingEmail | Error)[]> {
  const composeFast = createFastComposer(deps, contents);

  async function composeAllWhole(all: readonly Addressed[], group: VersionGroup) {
    const values = all.map((message) => message.values);
    const rendered = await contents.engine.renderBatch(group.version, values);
    return all.map((message, n) => {
      const content = rendered[n] ?? new NotRenderedError('the message was not rendered');
      return content instanceof Error
        ? Promise.resolve(content)
        : composeWhole(message, content, group, deps).catch(asError);
    });
  }

  async function composeGroup(messages: readonly BatchMessage[], group: VersionGroup) {
    const composed = new Map<BatchMessage, Promise<OutgoingEmail | Error>>();
    const whole: Addressed[] = [];
    const places: BatchMessage[] = [];
    const limit = new ReadLimit();
    for (const message of messages) {
      try {
        const found = sendingDomainOf(message, deps);
        const sending = found instanceof Promise ? await found : found;
        const addressed = { ...renderingOf(message, group, contents.pages), sending };
        const fast = composeFast(addressed, group, limit);
        if (fast) composed.set(message, Promise.resolve(fast).catch(asError));
        else {
          whole.push(addressed);
          places.push(message);
        }
      } catch (error) {
        composed.set(message, Promise.resolve(asError(error)));
      }
    }
    if (whole.length > 0) {
      const emails = await composeAllWhole(whole, group);
      for (const [n, message] of places.entries())
        composed.set(message, emails[n] as Promise<OutgoingEmail | Error>);
    }
    return Promise.all(messages.map((message) => composed.get(message) as Promise<OutgoingEmail | Error>));
  }

  return (messages) => composeByVersion(messages, contents, composeGroup);
}

/** Renders SMS. @returns the text with its segments, or an error, for each message */
export function renderSms(
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
