import { notFound } from '../../errors.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { type ContactKeys, findContacts, findIds } from './model.ts';
import { presentContact } from './presenter.ts';
import type { Contact } from './schema.ts';

export {
  type ConsentDeps,
  lockConsent,
  recordRefusedInLedger,
  recordRefusedOptOut,
  type RefusedRecipient,
  setSubscription,
  unsubscribeContacts,
} from './consent.ts';
export {
  type BulkContact,
  type BulkProblem,
  bulkCreateContacts,
  bulkUpsertContacts,
  findByAddresses,
  type FoundContact,
} from './bulk.ts';
export { withdrawSubscriptions, type Withdrawal } from './withdraw.ts';
export { changeContactData } from './change-data.ts';
export { dataProblem } from './data.ts';
export { ensureContacts } from './ensure.ts';
export { cancelMessagesTo, deleteContacts } from './remove.ts';
export { forgetInFilters, namedIn } from './named-addresses.ts';
export { type ContactScope, countDataKeys, highestContactId, scanContacts, scanMatching } from './scan.ts';
export { type ContactValues, findContactValues } from './values.ts';
export type { ContactKeys };
export { type Cleared, clearedPage, type RemovalStep, removalsWaiting } from './removal-work.ts';

/** Contacts of a brand, by the keys of the request. */
export interface FoundContacts {
  ids: Set<number>;
  byEmailKey: Map<string, number>;
}

/** Finds which ids and email addresses belong to contacts of the brand, in one statement. */
export async function findContactIds(
  db: Queryable,
  brandId: number,
  keys: ContactKeys,
): Promise<FoundContacts> {
  const rows = await findIds(db, brandId, keys);
  const byEmailKey = new Map<string, number>();
  for (const { id, email_key: key } of rows) if (key !== null) byEmailKey.set(key, id);
  return { ids: new Set(rows.map(({ id }) => id)), byEmailKey };
}

/**
 * Presents contacts of a brand, in one statement.
 * @returns the contacts in the order of `ids`, without those that do not exist
 */
export async function presentContacts(
  db: Queryable,
  brandId: number,
  ids: readonly number[],
): Promise<Contact[]> {
  const rows = await findContacts(db, brandId, ids);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => {
    const row = byId.get(id);
    return row ? [presentContact(row)] : [];
  });
}

/** @throws AppError not_found */
export async function getContact(db: Queryable, { brandId }: BrandScope, id: number): Promise<Contact> {
  const [contact] = await presentContacts(db, brandId, [id]);
  if (!contact) throw notFound('contact');
  return contact;
}
