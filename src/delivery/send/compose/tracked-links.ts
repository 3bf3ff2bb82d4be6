import type { LinkTracking, TrackedHtml } from '../../mime/tracked-html.ts';

/**
 * How a message is tracked, decided when it was accepted and stored with it (`messages.tracking`), so that a repeated
 * hand-over makes the same links.
 */
export interface MessageTracking {
  opens: boolean;
  clicks: boolean;
  /** Base URL of the links, without a trailing slash; absent if neither is tracked. */
  host?: string;
  /** Base URL of the service's own pages if it differs from `host`. */
  own?: string;
  /** The id of the key that signs the links. */
  key?: string;
}

/** What the links of a message depend on. */
export interface TrackedMessage {
  messageId: number;
  accountId: number;
  tracking: MessageTracking | null;
  /** The version of a content that is rendered for each recipient. Messages of one version share their targets. */
  set?: number;
}

/** A place that a link of a shared content leads to. */
export interface LinkTarget {
  /** Counted from 1; 0: the pixel. */
  link: number;
  /** How many links the content has. */
  links: number;
  /** Of the link; empty for the pixel. */
  url: string;
}

/** Makes the links of tracked messages. The feature that serves these links provides it. */
export interface LinkTracker {
  /** @returns null if the message is not tracked */
  plan(message: TrackedMessage): LinkTracking | null;
  /** @returns a token for each slot, of its length */
  tokens(message: TrackedMessage, html: TrackedHtml): string[];
  /** The first part of all tokens of a message with a `set`. It has `LinkTracking.recipientLength` characters. */
  recipientToken(message: TrackedMessage): string;
  /** The rest of a token: the same for all messages of the set. */
  targetToken(message: TrackedMessage, target: LinkTarget): string;
}
