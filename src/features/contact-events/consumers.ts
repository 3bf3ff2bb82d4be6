import type { Queryable } from '../../platform/db/queryable.ts';

/** A tracked event as consumers see it. */
export interface TrackedEvent {
  id: number;
  accountId: number;
  brandId: number;
  contactId: number;
  name: string;
  data: Record<string, unknown>;
  /** How many flows led to it; 0 for events that clients track. */
  chainDepth: number;
  createdAt: Date;
}

/**
 * What acts on tracked events inside the transaction that writes them. Test events and backfilled events reach no
 * consumer.
 */
export interface TrackedEventConsumer {
  /**
   * Returns which of these brands have something that waits for events. Only their events are consumed, and only for
   * them the transaction locks contacts: shared, so that events do not wait for each other. What starts to wait for
   * events of a contact takes the same lock exclusively, see `contactLock`, and looks for events since then.
   */
  needsLocks(brandIds: readonly number[]): Promise<ReadonlySet<number>>;
  /**
   * Acts on events of those brands.
   * @param trx the transaction that has written them
   * @returns what to do after the commit, such as waking a loop; null: nothing
   */
  consume(trx: Queryable, events: readonly TrackedEvent[]): Promise<(() => void) | null>;
}
