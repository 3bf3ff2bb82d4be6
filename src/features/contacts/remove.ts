import type pg from 'pg';
import { notFound } from '../../errors.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import { cancelQueued } from './message-removal.ts';
import { findContacts } from './model.ts';
import { presentContact } from './presenter.ts';
import type { Contact } from './schema.ts';

/** Number of the newest messages to each address that are searched before the response for messages to cancel. */
const LOOKED_AT = 5_000;

/** An address of a contact. Messages to it belong to the contact until the time `until` (ISO 8601). */
export interface RemovedAddress {
  key: string;
  until: string;
}

/** An address of one of several contacts. */
interface AddressRow {
  contact_id: number;
  key: string;
  until: Date;
}

/** Another contact may have a former address now. Messages that were sent to it later are then not cleared. */
async function findAddresses(
  db: Queryable,
  { brandId }: BrandScope,
  ids: readonly number[],
): Promise<Map<number, RemovedAddress[]>> {
  const { rows } = await db.query<AddressRow>(
    `select c.id as contact_id, a.key, a.until from contacts c cross join lateral (
       select k.key, now() as until from unnest(array[c.email_key, c.phone]) as k (key) where k.key is not null
       union all
       select f.address_key, case when exists (
         select 1 from contacts o where o.brand_id = c.brand_id and o.id <> c.id and o.email_key = f.address_key
         union all
         select 1 from contacts o where o.brand_id = c.brand_id and o.id <> c.id and o.phone = f.address_key)
         then f.replaced_at else now() end
       from contact_former_addresses f
       where f.contact_id = c.id and f.address_key <> all(array_remove(array[c.email_key, c.phone], null))
     ) a where c.brand_id = $1 and c.id = any($2)`,
    [brandId, ids],
  );
  const found = new Map<number, RemovedAddress[]>();
  for (const { contact_id: id, key, until } of rows)
    found.set(id, [...(found.get(id) ?? []), { key, until: until.toISOString() }]);
  return found;
}

/** Keeps the onboarding step complete although its contact is deleted. */
async function keepStep(trx: Queryable, accountId: number, at: Date): Promise<void> {
  await trx.query(
    `update accounts set onboarding_state = onboarding_state || jsonb_build_object(
       'contacts', jsonb_build_object('completed_at', $2::text))
     where id = $1 and not onboarding_state ? 'contacts'`,
    [accountId, at.toISOString()],
  );
}

/**
 * Cancels the queued messages to contacts that are about to be deleted. Call it outside of the transaction that deletes
 * them: a sender that records an outcome locks messages before contacts.
 */
export async function cancelMessagesTo(
  pool: pg.Pool,
  scope: BrandScope,
  ids: readonly number[],
): Promise<void> {
  const { brandId } = scope;
  for (const { key, until } of [...(await findAddresses(pool, scope, ids)).values()].flat())
    await cancelQueued(pool, { brandId, key, until }, LOOKED_AT);
}

/**
 * Deletes contacts, whose messages {@link cancelMessagesTo} has canceled. See {@link removeContact} for what is left to
 * the worker. Wait for the recipient fence after the commit.
 * @returns the number of contacts that existed
 */
export async function deleteContacts(
  trx: Queryable,
  scope: BrandScope,
  ids: readonly number[],
): Promise<number> {
  const { accountId, brandId } = scope;
  const { rows } = await trx.query<{ id: number; created_at: Date }>(
    'select id, created_at from contacts where brand_id = $1 and id = any($2) order by id for update',
    [brandId, ids],
  );
  const [first] = rows;
  if (!first) return 0;
  const locked = rows.map(({ id }) => id);
  const addresses = await findAddresses(trx, scope, locked);
  await trx.query(
    `insert into contact_removals (account_id, brand_id, contact_id, addresses)
     select $1, $2, (r ->> 'id')::bigint, r -> 'addresses' from jsonb_array_elements($3::jsonb) r`,
    [accountId, brandId, JSON.stringify(locked.map((id) => ({ id, addresses: addresses.get(id) ?? [] })))],
  );
  await trx.query('delete from contacts where id = any($1)', [locked]);
  await keepStep(trx, accountId, first.created_at);
  return locked.length;
}

/**
 * Deletes a contact. Its queued messages are canceled first. When this returns, the contact, its channels, lists and
 * subscription history are gone. The worker then clears its events and messages, because of a row in
 * `contact_removals`. Opt-outs and suppressions stay. Wait for the recipient fence before you respond.
 * @returns the contact as it was
 * @throws AppError not_found
 */
export async function removeContact(pool: pg.Pool, tenant: BrandScope, id: number): Promise<Contact> {
  const { brandId } = tenant;
  await cancelMessagesTo(pool, tenant, [id]);
  return inTransaction(pool, async (trx) => {
    await trx.query('select 1 from contacts where brand_id = $1 and id = $2 for update', [brandId, id]);
    const [row] = await findContacts(trx, brandId, [id]);
    if (!row) throw notFound('contact');
    await deleteContacts(trx, tenant, [id]);
    return presentContact(row);
  });
}
