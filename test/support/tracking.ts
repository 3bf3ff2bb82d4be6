import { messageClasses } from '../../src/delivery/terms/message.ts';
import type { NewMessage } from '../../src/delivery/ledger/accept/new-message.ts';
import { allocateMessageIds, writeMessages } from '../../src/delivery/ledger/accept/write-messages.ts';
import type { Hit } from '../../src/features/tracking/hits.ts';
import { createTrackingTokens, type TrackedTarget } from '../../src/features/tracking/tokens.ts';
import type { Database } from '../../src/platform/db/database.ts';
import { testKeyring } from './webhooks.ts';

export const trackingTokens = createTrackingTokens(testKeyring);

export const CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36';
export const GMAIL_PROXY =
  'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)';
export const YAHOO_PROXY = 'YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html';

interface Owner {
  accountId: number;
  brandId: number;
}

/**
 * Writes an email like POST /messages does for a brand with a domain.
 * @returns its id
 */
export async function writeTrackedMail(
  { pool }: Database,
  { accountId, brandId }: Owner,
  changes: Partial<NewMessage> = {},
  publicUrl = 'https://carillon.test',
): Promise<number> {
  const [id = 0] = await allocateMessageIds(pool, 1);
  const message: NewMessage = {
    id,
    account_id: accountId,
    brand_id: brandId,
    channel: 'email',
    status: 'queued',
    test: false,
    to_address: 'ann@example.com',
    to_key: 'ann@example.com',
    from_address: 'shop@acme.test',
    subject: 'Hello',
    html: '<p>Hello</p>',
    text: 'Hello',
    tags: { order: '1042' },
    domain_id: 1,
    ...changes,
  };
  await writeMessages(pool, [message], {
    source: { class: messageClasses.transactional },
    tracking: { publicUrl, keyId: trackingTokens.keyId },
  });
  return id;
}

/** What the tokens of a message with `links` links refer to: the pixel, then its links. */
export function targetsOf({ accountId }: Owner, messageId: number, links: number): TrackedTarget[] {
  return Array.from({ length: links + 1 }, (_, link) => ({
    accountId,
    messageId,
    link,
    links,
    url: link === 0 ? '' : `https://a.test/${link}?x=1&y=%20#z`,
  }));
}

/** The path of a pixel or link. */
export function pathOf(target: TrackedTarget, tokens = trackingTokens): string {
  const token = tokens.signer(tokens.keyId)?.(target) ?? '';
  return `${target.link === 0 ? '/o/' : '/c/'}${token}`;
}

export function hitOn(target: TrackedTarget, at: Date, changes: Partial<Hit> = {}): Hit {
  return { target, at, method: 'GET', userAgent: CHROME, purpose: '', ip: '203.0.113.7', ...changes };
}
