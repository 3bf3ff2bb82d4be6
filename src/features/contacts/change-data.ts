import type { Queryable } from '../../platform/db/queryable.ts';
import { type ContactData, dataProblem, patchData } from './data.ts';
import { lockContact, updateContact } from './model.ts';

/**
 * Patches the data of a contact by key: a key that is null is removed, and keys that are left out stay.
 * @param trx the caller's transaction, until whose end the contact's row is locked
 * @returns `gone`: the brand has no such contact; `problem`: why the data cannot be stored, as the end of a sentence
 */
export async function changeContactData(
  trx: Queryable,
  { brandId, contactId, at }: { brandId: number; contactId: number; at: Date },
  patch: Readonly<ContactData>,
): Promise<'changed' | 'gone' | { problem: string }> {
  const row = await lockContact(trx, brandId, contactId);
  if (!row) return 'gone';
  const data = patchData(row.data, patch);
  const problem = dataProblem(data);
  if (problem !== null) return { problem };
  await updateContact(trx, contactId, { data: JSON.stringify(data) }, at);
  return 'changed';
}
