import { LRUCache } from 'lru-cache';
import type { LinkTracking } from '../../delivery/mime/tracked-html.ts';
import type { LinkTracker, MessageTracking } from '../../delivery/send/tracked-links.ts';
import { MAX_TOKEN_LENGTH, TOKEN_OVERHEAD, type TrackingTokens } from './tokens.ts';

/** Under the tracking host. */
export const CLICK_PATH = '/c/';
export const OPEN_PATH = '/o/';

const MAX_CACHED_PLANS = 10_000;

function planOf({ host, own, opens, clicks }: MessageTracking): LinkTracking | null {
  if (host === undefined) return null;
  return {
    id: JSON.stringify([host, own, opens, clicks]),
    clickPrefix: clicks ? `${host}${CLICK_PATH}` : null,
    openPrefix: opens ? `${host}${OPEN_PATH}` : null,
    tokenOverhead: TOKEN_OVERHEAD,
    maxTokenLength: MAX_TOKEN_LENGTH,
    ownBases: own === undefined ? [host] : [host, own],
  };
}

/**
 * Rewrites the links of messages by the settings that were pinned when they were accepted. The result depends on
 * these and the message alone, so a repeated hand-over has the same bytes. If the secret of the pinned key was removed,
 * the message is not tracked.
 */
export function createLinkTracker(tokens: TrackingTokens): LinkTracker {
  const plans = new LRUCache<string, { plan: LinkTracking }>({ max: MAX_CACHED_PLANS });
  return {
    plan({ tracking }) {
      if (!tracking?.host || !tracking.key || !(tracking.opens || tracking.clicks)) return null;
      if (!tokens.signer(tracking.key)) return null;
      const key = `${tracking.opens} ${tracking.clicks} ${tracking.host} ${tracking.own ?? ''}`;
      const known = plans.get(key);
      if (known) return known.plan;
      const plan = planOf(tracking);
      if (plan) plans.set(key, { plan });
      return plan;
    },
    tokens({ accountId, messageId, tracking }, { slots, links }) {
      const sign = tokens.signer(tracking?.key ?? '');
      if (!sign) throw new Error('the key of the tracking links is unknown');
      const byLink = new Map<number, string>();
      return slots.map(({ link }) => {
        const url = links[link - 1] ?? '';
        const token = byLink.get(link) ?? sign({ accountId, messageId, link, links: links.length, url });
        byLink.set(link, token);
        return token;
      });
    },
  };
}
