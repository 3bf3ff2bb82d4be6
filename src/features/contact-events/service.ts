import type { Queryable } from '../../platform/db/queryable.ts';
import { deleteEventsOf } from './removal.ts';

export type { TrackedEvent, TrackedEventConsumer } from './consumers.ts';

/**
 * Deletes events of a contact with their idempotency keys, oldest months first. Call it after the contact's row is
 * locked or gone, and until it returns less than `limit`; no event of the contact is written then.
 * @param limit at most this many in one call
 * @returns how many were deleted
 */
export function deleteContactEvents(db: Queryable, contactId: number, limit: number): Promise<number> {
  return deleteEventsOf(db, contactId, limit);
}
