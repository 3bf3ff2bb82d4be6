import type { LinkTracking, TrackedHtml } from './tracked-html.ts';

/**
 * How a message is tracked. This is decided at accept and stored with the message (`messages.tracking`), so that a
 * repeated hand-over makes the same links.
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
  /**
   * The content version that is rendered for each recipient. Messages of one version share the targets of their links.
   */
  set?: number;
}

/** One link of a shared content, or its pixel. */
export interface LinkTarget {
  /** The position of the link, from 1; 0 for the pixel. */
  link: number;
  /** The number of links in the content. */
  links: number;
  /** The target of the link; empty for the pixel. */
  url: string;
}

/** Creates the links of tracked messages. Implemented by the feature that serves these links. */
export interface LinkTracker {
  /** @returns null if the message is not tracked */
  plan(message: TrackedMessage): LinkTracking | null;
  /** @returns a token for each slot, as long as the slot */
  tokens(message: TrackedMessage, html: TrackedHtml): string[];
  /** The first part of all tokens of a message with a `set`. It has `LinkTracking.recipientLength` characters. */
  recipientToken(message: TrackedMessage): string;
  /** The rest of a token: the same for all messages of the set. */
  targetToken(message: TrackedMessage, target: LinkTarget): string;
}
