import { LRUCache } from 'lru-cache';
import type { Queryable } from '../../platform/db/queryable.ts';

/** The sender of a brand's SMS. */
export interface SmsSender {
  /** A number in E.164 form, a short code, an alphanumeric name, or a pool of numbers at the provider. */
  from: string;
  /** The named provider; null: the one of SMS_PROVIDER_URL. */
  providerId: number | null;
}

/** Finds the sender of a brand. null: the brand has none, so the provider uses its default sender. */
export type SmsSenders = (brandId: number) => Promise<SmsSender | null>;

const LEASE_MS = 1_000;
const MAX_BRANDS = 10_000;

/** Finds the sender of a brand as {@link SmsSenders} does, but without a cache and also inside a transaction. */
export async function findSmsSender(db: Queryable, brandId: number): Promise<SmsSender | null> {
  const { rows } = await db.query<SmsSender>({
    name: 'sms_sender_of_brand',
    text: `select s.sender as "from", s.provider_id as "providerId"
      from sms_senders s left join providers p on p.id = s.provider_id
      where s.brand_id = $1 and s.removed_at is null and p.removed_at is null`,
    values: [brandId],
  });
  return rows[0] ?? null;
}

/**
 * Creates a look-up that caches senders for a second: messages need no round trip of their own, and `carillon
 * sms-sender` takes effect within that second. A sender whose provider has been removed is ignored.
 * @param now returns milliseconds of a monotonic clock
 */
export function createSmsSenders(db: Queryable, now: () => number = () => performance.now()): SmsSenders {
  const leases = new LRUCache<number, { sender: Promise<SmsSender | null>; until: number }>({
    max: MAX_BRANDS,
  });
  return (brandId) => {
    const lease = leases.get(brandId);
    if (lease && lease.until > now()) return lease.sender;
    const sender = findSmsSender(db, brandId);
    leases.set(brandId, { sender, until: now() + LEASE_MS });
    sender.catch(() => leases.delete(brandId));
    return sender;
  };
}
