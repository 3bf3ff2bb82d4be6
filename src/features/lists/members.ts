/**
 * The members of lists. All statements take their locks in one order, so that writers do not deadlock: first the
 * contacts by id, then new memberships by list and contact, then memberships to remove in the same order. After a
 * transaction has removed memberships, it must therefore not add any.
 */
import type { Queryable } from '../../platform/db/queryable.ts';

export interface Membership {
  list_id: number;
  contact_id: number;
}

/**
 * Adds contacts to lists. Contacts and lists that were deleted meanwhile are left out.
 * @param trx the caller's transaction
 * @param contactIds contacts of the brand that the lists belong to: the caller has checked both
 * @returns the memberships that are new
 */
export async function addToLists(
  trx: Queryable,
  contactIds: readonly number[],
  listIds: readonly number[],
): Promise<Membership[]> {
  if (contactIds.length === 0 || listIds.length === 0) return [];
  const { rows } = await trx.query<Membership>({
    name: 'add_to_lists',
    // The locks prevent the rows from being deleted before the foreign keys are checked.
    text: `
    with found as materialized (
      select id from contacts where id = any($1) order by id for key share
    ), wanted as materialized (
      select id from lists where id = any($2) and removed_at is null order by id for key share
    )
    insert into list_members (list_id, contact_id)
    select w.id, f.id from found f cross join wanted w order by w.id, f.id
    on conflict do nothing
    returning list_id, contact_id`,
    values: [contactIds, listIds],
  });
  return rows;
}

/**
 * Removes contacts from a list.
 * @returns the ids of the contacts that were members
 */
export async function removeFromList(
  trx: Queryable,
  contactIds: readonly number[],
  listId: number,
): Promise<number[]> {
  if (contactIds.length === 0) return [];
  const { rows } = await trx.query<{ contact_id: number }>({
    name: 'remove_from_list',
    text: `
    with found as materialized (
      select contact_id from list_members where list_id = $2 and contact_id = any($1)
      order by contact_id for update
    )
    delete from list_members m using found f where m.list_id = $2 and m.contact_id = f.contact_id
    returning m.contact_id`,
    values: [contactIds, listId],
  });
  return rows.map((row) => row.contact_id);
}

/**
 * Replaces the lists of one contact.
 * @param trx the caller's transaction
 * @param listIds lists of the contact's brand: the caller has checked them
 */
export async function replaceLists(
  trx: Queryable,
  contactId: number,
  listIds: readonly number[],
): Promise<void> {
  await addToLists(trx, [contactId], listIds);
  await trx.query({
    name: 'leave_other_lists',
    text: `
    with found as materialized (
      select m.list_id from list_members m
      where m.contact_id = $1 and m.list_id <> all($2) order by m.list_id for update
    )
    delete from list_members m using found f where m.list_id = f.list_id and m.contact_id = $1`,
    values: [contactId, listIds],
  });
}

/** Removes a contact from lists. */
export async function leaveLists(
  trx: Queryable,
  contactId: number,
  listIds: readonly number[],
): Promise<void> {
  await trx.query({
    name: 'leave_lists',
    text: `
    with found as materialized (
      select m.list_id from list_members m
      where m.contact_id = $1 and m.list_id = any($2) order by m.list_id for update
    )
    delete from list_members m using found f where m.list_id = f.list_id and m.contact_id = $1`,
    values: [contactId, listIds],
  });
}

/** A list as shown to its members. */
export interface ListOfContact {
  id: number;
  name: string;
  description: string | null;
}

/** Returns the visible lists of a contact of the brand, ordered by name. */
export async function visibleListsOf(
  db: Queryable,
  brandId: number,
  contactId: number,
  limit: number,
): Promise<ListOfContact[]> {
  const { rows } = await db.query<ListOfContact>({
    name: 'visible_lists_of_contact',
    text: `
    select l.id, l.name, l.description
    from list_members m join lists l on l.id = m.list_id and l.removed_at is null
    where m.contact_id = $2 and l.brand_id = $1 and l.visible order by lower(l.name), l.id limit $3`,
    values: [brandId, contactId, limit],
  });
  return rows;
}
