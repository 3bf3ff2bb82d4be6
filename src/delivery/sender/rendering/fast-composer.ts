/**
 * The fast path of campaigns: composes a message from the skeleton of its version, or leaves it to the plain way
 * (`send/compose/compose-rendered.ts`), which produces an email with the same decoded content. Nothing else in this
 * folder is imported from outside. See docs/rendering.md.
 */
import type { EmailAddress } from '../../terms/addresses/email.ts';
import { messageReference } from '../../terms/addresses/reference.ts';
import type { ContentValues, DividedText } from '../../content/templates/content.ts';
import { ReadLimit } from '../../content/templates/render-outputs.ts';
import { headerText } from '../../content/templates/values.ts';
import type { BuiltMessage, EmailContent } from '../../content/mime/message.ts';
import type { OutgoingEmail } from '../../wire/adapters/port.ts';
import { addressesOf, type ComposeDeps, outgoingEmail } from '../compose/compose-email.ts';
import {
  type AddressedRendering,
  BULK_HEADERS,
  feedbackIdOf,
  type VersionGroup,
} from '../compose/version-groups.ts';
import type { Skeleton, SkeletonRecipient } from '../../content/skeletons/skeleton.ts';
import { createSkeletons, type DividedSkeleton, type SkeletonDeps } from './skeletons.ts';

/**
 * Composes a message of a group.
 * @returns a promise only if the email has to be signed; null if the message has to be composed in the plain way
 * @throws Error if no email can be built from the message
 */
export type ComposeFast = (message: AddressedRendering) => OutgoingEmail | Promise<OutgoingEmail> | null;

interface SkeletonEmail {
  from: EmailAddress;
  replyTo: EmailAddress | null;
  feedbackId: string;
  skeleton: Skeleton;
  recipient: SkeletonRecipient;
}

/** The parts of an email built from a skeleton, for providers that do not take a complete message. */
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

/** @returns null if the message has to be rendered as a whole */
function renderSubject(subject: DividedText | null, values: ContentValues, limit: ReadLimit): string | null {
  if (!subject) return '';
  const outputs = subject.render(values, limit);
  if (!outputs) return null;
  return headerText(subject.parts.map((part, n) => part + (outputs[n] ?? '')).join(''));
}

/** What messages that share a skeleton have in common. */
interface FoundSkeleton {
  /** The message for which it was looked up. */
  of: AddressedRendering['message'];
  /** Null if there is none: the messages are rendered as a whole. */
  skeleton: DividedSkeleton | null;
  isTracked: boolean;
}

/** Whether two messages of a group certainly share a skeleton. This takes less time than looking it up. */
const hasSameSkeleton = (one: AddressedRendering['message'], other: AddressedRendering['message']): boolean =>
  one.tracking === other.tracking &&
  one.from === other.from &&
  one.replyTo === other.replyTo &&
  one.campaign?.id === other.campaign?.id &&
  one.flow?.id === other.flow?.id;

/**
 * Creates the fast path.
 * @returns a function that begins a group: its messages share a version, a campaign, and the read limit of this thread
 */
export function createFastComposer(
  deps: ComposeDeps,
  engine: SkeletonDeps['engine'],
): (group: VersionGroup) => ComposeFast {
  const { links } = deps;
  const skeletonOf = createSkeletons({ ...deps, engine });

  function compose(
    { message, values, headers, sending }: AddressedRendering,
    { skeleton: divided, isTracked }: FoundSkeleton,
    limit: ReadLimit,
  ): ReturnType<ComposeFast> {
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
      recipientToken: links && isTracked ? links.recipientToken(message) : '',
    };
    const building = skeleton.build(recipient, deps.signersFor(from.domain, sending));
    if (!building) return null;
    const feedbackId = feedbackIdOf(message);
    const content = new SkeletonParts({ from, replyTo, feedbackId, skeleton, recipient });
    const outgoing = (built: BuiltMessage) =>
      outgoingEmail(message, { content, built, reference, to, sending }, deps);
    return building instanceof Promise ? building.then(outgoing) : outgoing(building);
  }

  return (group) => {
    const limit = new ReadLimit();
    let found: FoundSkeleton | null = null;
    return (addressed) => {
      const { message } = addressed;
      if (!found || !hasSameSkeleton(message, found.of)) {
        const isTracked = (links?.plan(message) ?? null) !== null;
        found = { of: message, skeleton: skeletonOf(message, group), isTracked };
      }
      return compose(addressed, found, limit);
    };
  };
}
