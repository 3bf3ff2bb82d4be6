/**
 * Records which contacts and addresses the files of exports contain, so that exports expire when a contact is deleted.
 */
import { hash } from 'node:crypto';
import type { Queryable } from '../../platform/db/queryable.ts';
import { clearedPage, forgetInFilters, type RemovalStep } from '../contacts/service.ts';

/** Bytes of a hash: enough that no two contacts or addresses of a brand have the same. */
const HASH_BYTES = 8;

/** Clears the addresses of deleted contacts from the filters of exports that have ended. */
export const forgetContactInExports = forgetInFilters({ table: 'exports', columns: ['filters'] });

/** The contact or the address that a row of an export concerns. */
export type Held = { contactId: number } | { addressKey: string };

function hashOf(held: Held): Buffer {
  const text = 'contactId' in held ? `contact ${held.contactId}` : `address ${held.addressKey}`;
  return hash('sha256', text, 'buffer').subarray(0, HASH_BYTES);
}

/** The value of `export_parts.holds`. */
export const hashesOf = (held: readonly Held[]): Buffer => Buffer.concat(held.map(hashOf));

/** How long after the deletion of a contact a new export may still have read its data. */
const MAY_HAVE_READ = `interval '1 hour'`;

/** Whether an unfinished export of the brand may have read the contact. It is checked again when it is complete. */
async function isBeingWritten(db: Queryable, brandId: number, requestedAt: Date): Promise<boolean> {
  const { rowCount } = await db.query(
    `select 1 from exports where brand_id = $1 and status in ('queued', 'processing') and resource <> 'suppressions'
       and created_at < $2::timestamptz + ${MAY_HAVE_READ} limit 1`,
    [brandId, requestedAt],
  );
  return rowCount === 1;
}

/**
 * Expires the exports whose files contain a deleted contact or one of its addresses. They can no longer be downloaded,
 * and housekeeping removes their files within the hour. Files of suppressions stay, like suppressions.
 */
export const endExportsOfContact: RemovalStep = async (trx, contact) => {
  const { brandId, contactId, addressKeys, requestedAt } = contact;
  // This must come first: an export that completes after it is checked in the next call.
  const isUnderWay = await isBeingWritten(trx, brandId, requestedAt);
  const hashes = [{ contactId }, ...addressKeys.map((addressKey) => ({ addressKey }))].map(hashOf);
  const { rowCount } = await trx.query(
    `update exports e set expires_at = now()
     where e.brand_id = $1 and e.status = 'completed' and e.expires_at > now() and e.resource <> 'suppressions'
       and e.created_at < $2::timestamptz + ${MAY_HAVE_READ}
       and exists (
         select 1 from export_parts p cross join unnest($3::bytea[]) as h (hash)
         where p.export_id = e.id and (p.holds is null or position(h.hash in p.holds) > 0))`,
    [brandId, requestedAt, hashes],
  );
  return isUnderWay ? 'later' : clearedPage([rowCount], Infinity);
};
