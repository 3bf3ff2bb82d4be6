import type { KeyObject } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { type EmailAddress, parseEmailAddress } from '../addresses/email.ts';
import { returnPathAddress } from '../addresses/return-path.ts';
import type { DkimSigner } from '../dkim/sign.ts';
import {
  buildMessage,
  type BuiltMessage,
  type EmailContent,
  type PreparedContent,
  prepareContent,
} from '../mime/message.ts';
import type { OutgoingEmail, OutgoingSms } from '../providers/port.ts';
import type { BatchMessage } from './batch.ts';

export interface ComposeDeps {
  /** The domain of Message-ID and return path. */
  mailDomain: string;
  returnPathKey: KeyObject;
  /** Parses a sender's address, with a cache: many messages have the same sender. */
  readSender: (text: string) => ReturnType<typeof parseEmailAddress>;
  prepare: (content: EmailContent) => PreparedContent;
  /** Signers for the domain of a sender. None if signing is off or the relay signs. */
  signersFor: (domain: string) => readonly DkimSigner[];
}

function valid(parsed: ReturnType<typeof parseEmailAddress>, what: string): EmailAddress {
  if ('error' in parsed) throw new Error(`${what} ${parsed.error}`);
  return parsed;
}

/**
 * Composes the email of a message. The result depends on the stored message alone: if the message is handed over again
 * after a crash, the email is the same, byte for byte, including Message-ID and Date.
 * @returns a promise only if the email has to be signed
 * @throws Error if the stored message cannot become an email
 */
export function composeEmail(
  message: BatchMessage,
  deps: ComposeDeps,
): OutgoingEmail | Promise<OutgoingEmail> {
  const from = valid(deps.readSender(message.from ?? ''), 'from');
  const to = valid(parseEmailAddress(message.to), 'to');
  const prepared = deps.prepare({
    subject: message.subject ?? '',
    html: message.html,
    text: message.text,
    from,
    replyTo: message.replyTo === null ? null : valid(deps.readSender(message.replyTo), 'reply_to'),
    headers: message.headers ?? {},
    feedbackId: `${message.brandId}:${message.accountId}:transactional:carillon`,
  });
  const built = buildMessage(
    prepared,
    {
      to,
      messageId: `${message.messageId}.${message.accountId}@${deps.mailDomain}`,
      date: message.createdAt,
    },
    deps.signersFor(from.domain),
  );
  const outgoing = (complete: BuiltMessage): OutgoingEmail => ({
    messageId: message.messageId,
    attempt: message.attempt,
    returnPath: returnPathAddress(deps.returnPathKey, message, deps.mailDomain),
    to: `${to.local}@${to.domain}`,
    from: `${from.local}@${from.domain}`,
    subject: message.subject ?? '',
    tags: {
      ...message.tags,
      account_id: String(message.accountId),
      brand_id: String(message.brandId),
      message_id: String(message.messageId),
    },
    built: complete,
  });
  return built instanceof Promise ? built.then(outgoing) : outgoing(built);
}

export function composeSms(message: BatchMessage): OutgoingSms {
  return {
    messageId: message.messageId,
    attempt: message.attempt,
    to: message.to,
    text: message.text ?? '',
    segments: message.segments ?? 1,
  };
}

const MAX_CACHED_CONTENTS = 256;
/** Bytes of the prepared contents, and two for each character of their keys. */
const MAX_CACHE_SIZE = 4 * 1024 * 1024;

/** Puts its length before each text, so that different contents never have the same key. */
function part(text: string | null): string {
  return text === null ? '-' : `${text.length}:${text}`;
}

function keyOf({ from, replyTo, subject, html, text, headers, feedbackId }: EmailContent): string {
  const addresses = `${part(from.name)}${part(from.address)}${part(replyTo?.name ?? null)}${part(replyTo?.address ?? null)}`;
  const further = Object.entries(headers).map(([name, value]) => part(name) + part(value));
  return `${addresses}${part(feedbackId ?? null)}${further.join('')};${part(subject)}${part(html)}${part(text)}`;
}

/**
 * Prepares contents and caches the most recently used, because many messages differ only in their recipient.
 * A content larger than an eighth of the cache is not kept: it would evict most of the others.
 */
export function createContentCache(): (content: EmailContent) => PreparedContent {
  const cache = new LRUCache<string, PreparedContent>({
    max: MAX_CACHED_CONTENTS,
    maxSize: MAX_CACHE_SIZE,
    maxEntrySize: MAX_CACHE_SIZE / 8,
    sizeCalculation: (prepared, key) => 2 * key.length + prepared.remainder.length,
  });
  return (content) => {
    const key = keyOf(content);
    const cached = cache.get(key);
    if (cached) return cached;
    const prepared = prepareContent(content);
    cache.set(key, prepared);
    return prepared;
  };
}
