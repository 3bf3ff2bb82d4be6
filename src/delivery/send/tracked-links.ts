import type { LinkTracking, TrackedHtml } from '../mime/tracked-html.ts';

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
}

/** Makes the links of tracked messages. The feature that serves these links provides it. */
export interface LinkTracker {
  /** @returns null if the message is not tracked */
  plan(message: TrackedMessage): LinkTracking | null;
  /** @returns a token for each slot, of its length */
  tokens(message: TrackedMessage, html: TrackedHtml): string[];
}
