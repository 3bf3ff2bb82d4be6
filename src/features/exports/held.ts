/** Which contacts and addresses the files of exports have, so that exports end when a contact is erased. */
import { hash } from 'node:crypto';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { RemovalStep } from '../contacts/service.ts';

/** Enough that no two things of a brand have the same. */
const HASH_BYTES = 8;

/** What a row of an export is about. */
export type Held = { contactId: number } | { addressKey: string };

function hashOf(held: Held): Buffer {
  const text = 'contactId' in held ? `contact ${held.contactId}` : `address ${held.addressKey}`;
  return hash('sha256', text, 'buffer').subarray(0, HASH_BYTES);
}

/** The value of `export_parts.holds`. */
export const hashesOf = (held: readonly Held[]): Buffer => Buffer.concat(held.map(hashOf));

/** For so long after a contact was deleted, an export that began may have read something of it. */
const MAY_HAVE_READ = `interval '1 hour'`;

/** Whether an export of the brand is being written that may have read the contact. It is looked at when it is complete. */
async function isBeingWritten(db: Queryable, brandId: number, requestedAt: Date): Promise<boolean> {
  const { rowCount } = await db.query(
    `select 1 from exports where brand_id = $1 and status in ('queued', 'processing') and resource <> 'suppressions'
       and created_at < $2::timestamptz + ${MAY_HAVE_READ} limit 1`,
    [brandId, requestedAt],
  );
  return rowCount === 1;
}

/**
 * Ends the exports whose files have a deleted contact, or an address of it: they cannot be fetched any more, and
 * housekeeping removes their files within the hour. Files of suppressions stay, as suppressions do.
 */
export const endExportsOfContact: RemovalStep = async (trx, contact) => {
  const { brandId, contactId, addressKeys, requestedAt } = contact;
  // Asked first: an export that is completed afterwards is looked at the next time.
  const isUnderWay = await isBeingWritten(trx, brandId, requestedAt);
  const hashes = [{ contactId }, ...addressKeys.map((addressKey) => ({ addressKey }))].map(hashOf);
  await trx.query(
    `update exports e set expires_at = now()
     where e.brand_id = $1 and e.status = 'completed' and e.expires_at > now() and e.resource <> 'suppressions'
       and e.created_at < $2::timestamptz + ${MAY_HAVE_READ}
       and exists (
         select 1 from export_parts p cross join unnest($3::bytea[]) as h (hash)
         where p.export_id = e.id and (p.holds is null or position(h.hash in p.holds) > 0))`,
    [brandId, requestedAt, hashes],
  );
  return isUnderWay ? 'later' : false;
};
