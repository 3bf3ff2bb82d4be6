/**
 * Composes messages that are rendered from a content version, such as those of campaigns. A message that is handed over
 * again is rendered again, with the values that its contact has then. Messages take the fast path
 * (`rendering/fast-composer.ts`) if they can; this file is the plain path.
 */
import { isHeavy } from '../../content/templates/content-weight.ts';
import { NotRenderedError, type RenderedContent } from '../../content/templates/content.ts';
import { headerText } from '../../content/templates/values.ts';
import { type EmailContent, type PreparedContent, prepareContent } from '../../content/mime/message.ts';
import { addToHtmlLinks, addToTextLinks } from '../../content/mime/utm.ts';
import type { OutgoingEmail } from '../../wire/adapters/port.ts';
import { createFastComposer } from '../rendering/fast-composer.ts';
import type { BatchMessage } from '../../ledger/intend/batch.ts';
import { addressEmail, addressesOf, type ComposeDeps, sendingDomainOf } from '../compose/compose-email.ts';
import {
  type AddressedRendering,
  BULK_HEADERS,
  composeByVersion,
  type ContentSources,
  feedbackIdOf,
  renderingOf,
  type VersionGroup,
} from '../compose/version-groups.ts';

interface WholeDeps extends ComposeDeps {
  /** Prepares a heavy content in a thread. */
  prepareHeavy: (content: EmailContent) => Promise<PreparedContent>;
}

/** Composes a message that was rendered completely. */
async function composeWhole(
  { message, values, headers, sending }: AddressedRendering,
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
  // This is not cached, because it differs for each recipient.
  const prepared = isHeavy(content) ? await deps.prepareHeavy(content) : prepareContent(content);
  return addressEmail(message, { content, prepared, to, sending }, deps);
}

const asError = (error: unknown): Error => error as Error;

/**
 * Returns a function that composes messages from their versions. A message that could not be composed yields an error
 * in its place.
 */
export function createRenderedComposer(
  deps: WholeDeps,
  contents: ContentSources,
): (messages: readonly BatchMessage[]) => Promise<(OutgoingEmail | Error)[]> {
  const fastComposer = createFastComposer(deps, contents.engine);

  async function composeAllWhole(all: readonly AddressedRendering[], group: VersionGroup) {
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
    const whole: AddressedRendering[] = [];
    const places: BatchMessage[] = [];
    const composeFast = fastComposer(group);
    for (const message of messages) {
      try {
        const found = sendingDomainOf(message, deps);
        const sending = found instanceof Promise ? await found : found;
        const addressed = { ...renderingOf(message, group, contents.pages), sending };
        const fast = composeFast(addressed);
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
