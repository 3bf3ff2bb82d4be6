import { LRUCache } from 'lru-cache';
import type { LinkTracking } from '../../delivery/content/mime/tracked-html.ts';
import type {
  LinkTarget,
  LinkTracker,
  MessageTracking,
  TrackedMessage,
} from '../../delivery/content/mime/tracked-links.ts';
import { RECIPIENT_LENGTH, TARGET_OVERHEAD } from './shared-tokens.ts';
import { MAX_URL_LENGTH, type SharedSigner, TOKEN_OVERHEAD, type TrackingTokens } from './tokens.ts';

/** Relative to the tracking host. */
export const CLICK_PATH = '/c/';
export const OPEN_PATH = '/o/';

const MAX_CACHED_PLANS = 10_000;

function planOf({ host, own, opens, clicks }: MessageTracking, isShared: boolean): LinkTracking | null {
  if (host === undefined) return null;
  return {
    id: JSON.stringify([host, own, opens, clicks, isShared]),
    clickPrefix: clicks ? `${host}${CLICK_PATH}` : null,
    openPrefix: opens ? `${host}${OPEN_PATH}` : null,
    recipientLength: isShared ? RECIPIENT_LENGTH : 0,
    tokenOverhead: isShared ? TARGET_OVERHEAD : TOKEN_OVERHEAD,
    maxUrlLength: MAX_URL_LENGTH,
    ownBases: own === undefined ? [host] : [host, own],
  };
}

/**
 * Rewrites the links of messages by the settings that were pinned when they were accepted. The result depends only on
 * these and the message, so a repeated hand-over sends the same bytes. If the secret of the pinned key was removed, the
 * message is not tracked.
 */
export function createLinkTracker(tokens: TrackingTokens): LinkTracker {
  const plans = new LRUCache<string, { plan: LinkTracking }>({ max: MAX_CACHED_PLANS });

  function sharedSigner({ tracking }: TrackedMessage): SharedSigner {
    const signer = tokens.sharedSigner(tracking?.key ?? '');
    if (!signer) throw new Error('the key of the tracking links is unknown');
    return signer;
  }

  function signerOf(message: TrackedMessage): (target: LinkTarget) => string {
    const { accountId, messageId, tracking, set } = message;
    if (set !== undefined) {
      const recipient = sharedSigner(message).recipient({ accountId, messageId, set });
      return (target) => recipient + sharedTargetToken(message, target);
    }
    const sign = tokens.signer(tracking?.key ?? '');
    if (!sign) throw new Error('the key of the tracking links is unknown');
    return (target) => sign({ accountId, messageId, ...target });
  }

  const sharedTargetToken: LinkTracker['targetToken'] = (message, target) =>
    sharedSigner(message).target({ set: message.set ?? 0, ...target });

  return {
    plan({ tracking, set }) {
      if (!tracking?.host || !tracking.key || !(tracking.opens || tracking.clicks)) return null;
      if (!tokens.signer(tracking.key)) return null;
      const key = `${set !== undefined} ${tracking.opens} ${tracking.clicks} ${tracking.host} ${tracking.own ?? ''}`;
      const known = plans.get(key);
      if (known) return known.plan;
      const plan = planOf(tracking, set !== undefined);
      if (plan) plans.set(key, { plan });
      return plan;
    },
    tokens(message, { slots, links }) {
      const sign = signerOf(message);
      const byLink = new Map<number, string>();
      return slots.map(({ link }) => {
        const url = links[link - 1] ?? '';
        const token = byLink.get(link) ?? sign({ link, links: links.length, url });
        byLink.set(link, token);
        return token;
      });
    },
    recipientToken(message) {
      const { accountId, messageId, set = 0 } = message;
      return sharedSigner(message).recipient({ accountId, messageId, set });
    },
    targetToken: sharedTargetToken,
  };
}
