import { LRUCache } from 'lru-cache';
import type { Channel } from '../../../delivery/terms/message.ts';
import { type BrandSenders, readSenders } from '../../../delivery/terms/sender-identity.ts';
import { findSmsSender, type SmsSender } from '../../../delivery/terms/sms-senders.ts';
import type { NewMessage } from '../../../delivery/ledger/accept/new-message.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { senderOfTemplate } from '../../templates/service.ts';

/** The brand that sends, as columns of `flow_runs`. */
interface Brand {
  account_id: number;
  brand_id: number;
}

/** The sender that the content names; null for the account's default. */
interface ContentSender {
  fromName: string | null;
  fromEmail: string | null;
}

/**
 * Resolves the sender of a message as POST /messages does. Messages from a domain that has lost its verification are
 * accepted, and held until it is verified again.
 * @returns null if the brand may not send from the address that the content names
 */
export type SenderOf = (
  trx: Queryable,
  brand: Brand,
  channel: Channel,
  content: ContentSender,
) => Promise<Pick<NewMessage, 'from_address' | 'default_from' | 'domain_id' | 'provider_id'> | null>;

const KNOWN_MS = 1_000;
const MAX_KNOWN = 10_000;

/** @param mailDomain the setting MAIL_DOMAIN */
export function createSenderOf(mailDomain: string): SenderOf {
  // Each transaction reads over its own connection: waiting for a second one of the pool could deadlock.
  const emails = new LRUCache<number, BrandSenders>({ max: MAX_KNOWN, ttl: KNOWN_MS });
  const numbers = new LRUCache<number, { sender: SmsSender | null }>({ max: MAX_KNOWN, ttl: KNOWN_MS });

  async function brandSenders(trx: Queryable, { account_id: accountId, brand_id: brandId }: Brand) {
    const known = emails.get(brandId);
    if (known) return known;
    const senders = await readSenders(trx, { accountId, brandId }, mailDomain, 'verified or lost');
    emails.set(brandId, senders);
    return senders;
  }

  async function smsSender(trx: Queryable, brandId: number): Promise<SmsSender | null> {
    const known = numbers.get(brandId);
    if (known) return known.sender;
    const sender = await findSmsSender(trx, brandId);
    numbers.set(brandId, { sender });
    return sender;
  }

  return async (trx, brand, channel, content) => {
    switch (channel) {
      case 'email':
        return senderOfTemplate(await brandSenders(trx, brand), content);
      case 'sms': {
        const sender = await smsSender(trx, brand.brand_id);
        return { from_address: sender?.from, provider_id: sender?.providerId };
      }
    }
  };
}
