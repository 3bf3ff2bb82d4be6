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

/** Another contact may have a former address now. Messages that were sent to it later are then not cleared. */
async function findAddresses(db: Queryable, { brandId }: BrandScope, id: number): Promise<RemovedAddress[]> {
  const { rows } = await db.query<{ key: string; until: Date }>(
    `select a.key, a.until from contacts c cross join lateral (
       select k.key, now() as until from unnest(array[c.email_key, c.phone]) as k (key) where k.key is not null
       union all
       select f.address_key, case when exists (
         select 1 from contacts o where o.brand_id = c.brand_id and o.id <> c.id and o.email_key = f.address_key
         union all
         select 1 from contacts o where o.brand_id = c.brand_id and o.id <> c.id and o.phone = f.address_key)
         then f.replaced_at else now() end
       from contact_former_addresses f
       where f.contact_id = c.id and f.address_key <> all(array_remove(array[c.email_key, c.phone], null))
     ) a where c.brand_id = $1 and c.id = $2`,
    [brandId, id],
  );
  return rows.map(({ key, until }) => ({ key, until: until.toISOString() }));
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
 * Deletes a contact. Its queued messages are canceled first. When this returns, the contact, its channels, lists and
 * subscription history are gone. The worker then clears its events and messages, because of a row in
 * `contact_removals`. Opt-outs and suppressions stay. Wait for the recipient fence before you respond.
 * @returns the contact as it was
 * @throws AppError not_found
 */
export async function removeContact(pool: pg.Pool, tenant: BrandScope, id: number): Promise<Contact> {
  const { accountId, brandId } = tenant;
  // Not in the transaction that deletes: a sender that records an outcome locks messages before contacts.
  for (const { key, until } of await findAddresses(pool, tenant, id)) {
    await cancelQueued(pool, { brandId, key, until }, LOOKED_AT);
  }
  return inTransaction(pool, async (trx) => {
    await trx.query('select 1 from contacts where brand_id = $1 and id = $2 for update', [brandId, id]);
    const [row] = await findContacts(trx, brandId, [id]);
    if (!row) throw notFound('contact');
    await trx.query(
      'insert into contact_removals (account_id, brand_id, contact_id, addresses) values ($1, $2, $3, $4)',
      [accountId, brandId, id, JSON.stringify(await findAddresses(trx, tenant, id))],
    );
    await trx.query('delete from contacts where id = $1', [id]);
    await keepStep(trx, accountId, row.created_at);
    return presentContact(row);
  });
}
