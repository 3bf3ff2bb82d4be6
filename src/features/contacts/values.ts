import type { Queryable } from '../../platform/db/queryable.ts';
import { type AddressKeys, findByAddress, findContacts, type StoredContact } from './model.ts';

/** A contact as contents of messages see it: `contact.first_name`, `contact.data.plan`. */
export type ContactValues = ReturnType<typeof valuesOf>;

function valuesOf(row: StoredContact) {
  const { id, uuid, first_name, last_name, email, phone, source, country_code, data } = row;
  const created_at = row.created_at.toISOString();
  return { id, uuid, first_name, last_name, email, phone, source, country_code, created_at, data };
}

/**
 * Finds the values of a contact for contents.
 * @param of its id, or an address
 * @returns null if the brand has no such contact
 */
export async function findContactValues(
  db: Queryable,
  brandId: number,
  of: { id: number } | AddressKeys,
): Promise<ContactValues | null> {
  const [row] = 'id' in of ? await findContacts(db, brandId, [of.id]) : await findByAddress(db, brandId, of);
  return row ? valuesOf(row) : null;
}
