import { LRUCache } from 'lru-cache';
import { type EmailAddress, parseEmailAddress } from '../../terms/addresses/email.ts';
import { messageReference } from '../../terms/addresses/reference.ts';
import { returnPathAddress } from '../../terms/addresses/return-path.ts';
import { messageClasses } from '../../terms/message.ts';
import {
  type SendingDomain,
  SendingDomainError,
  type SendingDomains,
} from '../../content/dkim/domain-signers.ts';
import type { DkimSigner } from '../../content/dkim/sign.ts';
import { isHeavy, lengthOf } from '../../content/templates/content-weight.ts';
import {
  buildMessage,
  type BuiltMessage,
  type EmailContent,
  type PreparedContent,
  prepareContent,
} from '../../content/mime/message.ts';
import { htmlWithTokens, type TrackedHtml } from '../../content/mime/tracked-html.ts';
import type { OutgoingEmail } from '../../wire/adapters/port.ts';
import type { BatchMessage } from '../../ledger/intend/batch.ts';
import type { LinkTracker, TrackedMessage } from '../../content/mime/tracked-links.ts';

export interface ComposeDeps {
  /** The domain of Message-IDs, and of return paths of messages from the service's own addresses. */
  mailDomain: string;
  returnPathKey: Buffer;
  /** Signs the references that providers keep. */
  referenceKey: Buffer;
  /** Parses a sender's address, with a cache: many messages have the same sender. */
  readSender: (text: string) => ReturnType<typeof parseEmailAddress>;
  /** Returns a promise for a content that a thread prepares. */
  prepare: (content: EmailContent) => PreparedContent | Promise<PreparedContent>;
  /**
   * Returns signers for the domain of a sender: none if signing is off or the relay signs.
   * @param sending the account's domain that the message is sent from; null: an address of the service
   */
  signersFor: (domain: string, sending: SendingDomain | null) => readonly DkimSigner[];
  /** If absent, messages can only be sent from addresses of the service. */
  domains?: SendingDomains;
  /** If absent, no message is tracked. */
  links?: LinkTracker;
}

export function sendingDomainOf(
  { domainId }: BatchMessage,
  { domains }: Pick<ComposeDeps, 'domains'>,
): SendingDomain | Promise<SendingDomain> | null {
  if (domainId === null) return null;
  if (!domains) throw new SendingDomainError('this channel has no sending domains');
  return domains.find(domainId);
}

export function valid(parsed: ReturnType<typeof parseEmailAddress>, what: string): EmailAddress {
  if ('error' in parsed) throw new Error(`${what} ${parsed.error}`);
  return parsed;
}

/** @throws Error if one of them is not an address */
export function addressesOf(message: BatchMessage, deps: Pick<ComposeDeps, 'readSender'>) {
  return {
    from: valid(deps.readSender(message.from ?? ''), 'from'),
    to: valid(parseEmailAddress(message.to), 'to'),
    replyTo: message.replyTo === null ? null : valid(deps.readSender(message.replyTo), 'reply_to'),
  };
}

/**
 * Composes the email of a message. The result depends only on the stored message: if the message is handed over again
 * after a crash, the email is the same, byte for byte, including Message-ID and Date.
 * @returns a promise only if the email has to be signed or a thread prepares its content
 * @throws Error if the stored message cannot become an email
 */
export function composeEmail(
  message: BatchMessage,
  deps: ComposeDeps,
): OutgoingEmail | Promise<OutgoingEmail> {
  const { from, to, replyTo } = addressesOf(message, deps);
  const content = {
    subject: message.subject ?? '',
    html: message.html,
    text: message.text,
    from,
    replyTo,
    headers: message.headers ?? {},
    feedbackId: `${message.brandId}:${message.accountId}:transactional:carillon`,
    tracking: message.html === null ? null : (deps.links?.plan(message) ?? null),
  };
  const prepared = deps.prepare(content);
  const sending = sendingDomainOf(message, deps);
  if (prepared instanceof Promise || sending instanceof Promise) {
    return Promise.all([prepared, sending]).then(([ready, domain]) =>
      addressEmail(message, { content, prepared: ready, to, sending: domain }, deps),
    );
  }
  return addressEmail(message, { content, prepared, to, sending }, deps);
}

/**
 * The date in the header: for a message of a request, when it is to be sent, which is when it was accepted unless it is
 * scheduled. Others may be queued again.
 */
export const dateOf = ({ class: priority, queuedAt, createdAt }: BatchMessage): Date =>
  priority === messageClasses.transactional ? queuedAt : createdAt;

interface AddressedEmail {
  content: EmailContent;
  prepared: PreparedContent;
  to: EmailAddress;
  sending: SendingDomain | null;
}

/** Adds the recipient's parts to a prepared content. */
export function addressEmail(
  message: BatchMessage & Pick<TrackedMessage, 'set'>,
  { content, prepared, to, sending }: AddressedEmail,
  deps: ComposeDeps,
): OutgoingEmail | Promise<OutgoingEmail> {
  const { from } = content;
  // The Message-ID is often the only thing in a feedback report that identifies the message.
  const reference = messageReference(deps.referenceKey, message);
  const tokens = prepared.tracked ? deps.links?.tokens(message, prepared.tracked.html) : undefined;
  const built = buildMessage(
    prepared,
    {
      to,
      messageId: `${reference}@${deps.mailDomain}`,
      date: dateOf(message),
      ...(tokens ? { tokens } : {}),
    },
    deps.signersFor(from.domain, sending),
  );
  const sent =
    tokens && prepared.tracked ? new TrackedContent(content, prepared.tracked.html, tokens) : content;
  const outgoing = (complete: BuiltMessage): OutgoingEmail =>
    outgoingEmail(message, { content: sent, built: complete, reference, to, sending }, deps);
  return built instanceof Promise ? built.then(outgoing) : outgoing(built);
}

interface ComposedParts<Built> extends Pick<OutgoingEmail, 'content' | 'reference'> {
  built: Built;
  to: EmailAddress;
  sending: SendingDomain | null;
}

/** The composed email in the form that providers receive. */
export function outgoingEmail<Built>(
  message: BatchMessage,
  { content, built, reference, to, sending }: ComposedParts<Built>,
  deps: Pick<ComposeDeps, 'returnPathKey' | 'mailDomain'>,
): Omit<OutgoingEmail, 'built'> & { built: Built } {
  const { messageId, attempt, accountId, brandId, campaign } = message;
  const { from, subject } = content;
  return {
    messageId,
    attempt,
    returnPath: returnPathAddress(deps.returnPathKey, message, sending?.returnPathHost ?? deps.mailDomain),
    to: `${to.local}@${to.domain}`,
    from: `${from.local}@${from.domain}`,
    subject,
    tags: {
      ...message.tags,
      account_id: String(accountId),
      brand_id: String(brandId),
      message_id: String(messageId),
      ...(campaign ? { campaign_id: String(campaign.id) } : {}),
    },
    reference,
    content,
    built,
  };
}

/** The content with its tracked HTML. It is built only for providers that do not take a complete message. */
export class TrackedContent implements EmailContent {
  readonly subject: string;
  readonly text: string | null;
  readonly from: EmailAddress;
  readonly replyTo: EmailAddress | null;
  readonly headers: Record<string, string>;
  readonly feedbackId: string;
  readonly #tracked: TrackedHtml;
  readonly #tokens: readonly string[];
  #html: string | undefined;

  constructor(content: EmailContent, tracked: TrackedHtml, tokens: readonly string[]) {
    this.subject = content.subject;
    this.text = content.text;
    this.from = content.from;
    this.replyTo = content.replyTo;
    this.headers = content.headers;
    this.feedbackId = content.feedbackId ?? '';
    this.#tracked = tracked;
    this.#tokens = tokens;
  }

  get html(): string {
    return (this.#html ??= htmlWithTokens(this.#tracked, this.#tokens));
  }
}

const MAX_CACHED_CONTENTS = 256;
/**
 * Size of a cache entry: the bytes of the prepared content, and two for each character of its key. A content with
 * tokens also has its HTML and the body in canonical form, in total about four times as much.
 */
const MAX_CACHE_SIZE = 4 * 1024 * 1024;

/** Puts its length before each text, so that two different contents never have the same key. */
function part(text: string | null): string {
  return text === null ? '-' : `${text.length}:${text}`;
}

function keyOf(content: EmailContent): string {
  const { from, replyTo, subject, html, text, headers, feedbackId, tracking } = content;
  const addresses = `${part(from.name)}${part(from.address)}${part(replyTo?.name ?? null)}${part(replyTo?.address ?? null)}`;
  const further = Object.entries(headers).map(([name, value]) => part(name) + part(value));
  return `${addresses}${part(feedbackId ?? null)}${part(tracking?.id ?? null)}${further.join('')};${part(subject)}${part(html)}${part(text)}`;
}

/**
 * Maximum length of cached contents. The keys of longer ones would take milliseconds, and they would evict most others.
 */
const MAX_CACHED_LENGTH = MAX_CACHE_SIZE / 24;

/**
 * Prepares contents and caches the most recently used, because many messages differ only in their recipient.
 * @param prepareHeavy prepares a heavy content in a thread. Equal contents that wait for a thread are prepared once.
 */
export function createContentCache(
  prepareHeavy: (content: EmailContent) => Promise<PreparedContent>,
): (content: EmailContent) => PreparedContent | Promise<PreparedContent> {
  const cache = new LRUCache<string, PreparedContent>({
    max: MAX_CACHED_CONTENTS,
    maxSize: MAX_CACHE_SIZE,
    maxEntrySize: MAX_CACHE_SIZE / 8,
    sizeCalculation: (prepared, key) =>
      2 * key.length + prepared.remainder.length * (prepared.tracked ? 4 : 1),
  });
  const inThreads = new Map<string, Promise<PreparedContent>>();

  function prepareInThread(content: EmailContent, key: string): Promise<PreparedContent> {
    const known = inThreads.get(key);
    if (known) return known;
    const preparing = prepareHeavy(content)
      .then((prepared) => {
        cache.set(key, prepared);
        return prepared;
      })
      .finally(() => inThreads.delete(key));
    inThreads.set(key, preparing);
    return preparing;
  }

  return (content) => {
    const heavy = isHeavy(content);
    if (heavy && lengthOf(content) > MAX_CACHED_LENGTH) return prepareHeavy(content);
    const key = keyOf(content);
    const cached = cache.get(key);
    if (cached) return cached;
    if (heavy) return prepareInThread(content, key);
    const prepared = prepareContent(content);
    cache.set(key, prepared);
    return prepared;
  };
}
