/** Limits how often contacts get messages, by the frequency cap of their brand. */
import { type FrequencyCap, reachedCapSql } from '../../../delivery/ledger/limits/frequency-cap.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';

/**
 * Serializes the runs of contacts that count their messages, until the transaction ends. To avoid deadlocks, a
 * transaction takes the locks of all of its runs that may send at once, right after those of their rows and before all
 * others.
 */
export async function lockFrequency(trx: Queryable, contactIds: readonly number[]): Promise<void> {
  if (contactIds.length === 0) return;
  await trx.query({
    name: 'lock_frequency',
    // Two contacts may share a lock, so the order is that of the locks.
    text: `select pg_advisory_xact_lock(l.key)
           from (select distinct hashtextextended('frequency ' || id, 0) as key from unnest($1::bigint[]) as c (id)
             order by 1) l`,
    values: [contactIds],
  });
}

/** A contact whose brand has a cap. */
export interface CappedContact {
  brandId: number;
  contactId: number;
  cap: FrequencyCap;
}

const cappedSql = `
  select c.id from contacts c
  where c.id = any($2::bigint[]) and ${reachedCapSql({
    brandId: '$1',
    keys: 'c.email_key, c.phone',
    asOf: '$3::timestamptz',
    count: '$4::int',
    perSeconds: '$5::int',
  })}`;

/**
 * Finds the contacts that have reached the cap of their brand. Because of the locks, each of two concurrent
 * transactions sees the other's messages.
 * @returns their ids
 */
export async function findCapped(
  trx: Queryable,
  contacts: readonly CappedContact[],
  asOf: Date,
): Promise<Set<number>> {
  const capped = new Set<number>();
  // The runs already hold these locks, unless the brand got its cap only just now.
  await lockFrequency(
    trx,
    contacts.map(({ contactId }) => contactId),
  );
  for (const [brandId, ofBrand] of Map.groupBy(contacts, (contact) => contact.brandId)) {
    const { count, per_seconds: perSeconds } = (ofBrand[0] as CappedContact).cap;
    const { rows } = await trx.query<{ id: number }>({
      name: 'contacts_at_frequency_cap',
      text: cappedSql,
      values: [brandId, ofBrand.map(({ contactId }) => contactId), asOf, count, perSeconds],
    });
    for (const { id } of rows) capped.add(id);
  }
  return capped;
}
