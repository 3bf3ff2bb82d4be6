/**
 * Opt-outs that are recorded but not yet applied to contacts. A link in an old mail has only the HMAC of the address:
 * the opt-out is recorded at once, and the worker looks for the contact, see `features/contacts/opt-out-walk.ts`. Until
 * then the contact is still subscribed, so senders compare subscribed contacts with these HMACs.
 */
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { Keyring } from '../../../platform/secrets/keyring.ts';
import { acceptedHashes, type OptOut, type OptOutAddress, recordHashedOptOut } from './opt-outs.ts';

/** Recipients of one brand and channel. */
type Recipients = Omit<OptOutAddress, 'address'>;

/**
 * SQL: the HMACs of opt-outs that contacts of the brand may not have yet, as bytea[]; null, nearly always, if there are
 * none. Call it once per brand, in the statement that writes an intent: it sees what is committed when it is called. An
 * opt-out stays for a minute after it is applied, for statements that have read the contact before. Opt-outs that have
 * ended are left out.
 * @param brandId SQL
 * @param channel SQL
 */
export const unappliedOptOutsSql = (brandId: string, channel: string): string =>
  `find_unapplied_opt_outs(${brandId}, ${channel})`;

/** Whether the recipient has one of these opt-outs. It computes HMACs, so call it only if there are opt-outs. */
export function hasUnapplied(
  keyring: Pick<Keyring, 'subkey' | 'accepted'>,
  recipient: OptOutAddress,
  hashes: readonly Buffer[],
): boolean {
  const own = acceptedHashes(keyring, recipient);
  return hashes.some((hash) => own.some((each) => each.equals(hash)));
}

/**
 * Records an opt-out of an address that is known only by its HMAC. It is applied to contacts soon after the commit. A
 * repeated opt-out changes nothing, unless plus addresses are one recipient: other forms of the address may have
 * subscribed since.
 * @param trx the caller's transaction. After its commit, wait for the recipient fence before you respond
 */
export async function recordUnappliedOptOut(
  trx: Queryable,
  hash: Buffer,
  optOut: OptOut & Recipients,
): Promise<void> {
  const isNew = await recordHashedOptOut(trx, [hash], optOut);
  if (isNew || optOut.plusAddresses) await keepUnapplied(trx, optOut, hash);
}

/**
 * Schedules an opt-out to be applied to contacts.
 * @param afterSeconds when to begin; until then the caller may change the contact and end it with {@link endUnapplied}
 */
export async function keepUnapplied(
  trx: Queryable,
  { brandId, channel }: Recipients,
  hash: Buffer,
  afterSeconds = 0,
): Promise<void> {
  await trx.query(
    `insert into unapplied_opt_outs (brand_id, channel, address_hash, begins_at)
     values ($1, $2, $3, now() + make_interval(secs => $4))
     on conflict (brand_id, channel, address_hash) do update
       set begins_at = excluded.begins_at, lap = null, start_id = null, applied_at = null`,
    [brandId, channel, hash, afterSeconds],
  );
}

/**
 * Ends unapplied opt-outs of recipients whose contacts were changed in this transaction.
 * @param hashes all HMACs of the address
 */
export async function endUnapplied(
  trx: Queryable,
  { brandId, channel }: Recipients,
  hashes: readonly Buffer[],
): Promise<void> {
  await trx.query(
    'delete from unapplied_opt_outs where brand_id = $1 and channel = $2 and address_hash = any($3) and lap is null',
    [brandId, channel, hashes],
  );
}
