import { mapInTurns } from '../../../platform/processes/map-in-turns.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { Keyring } from '../../../platform/secrets/keyring.ts';
import { mac } from '../../../platform/secrets/mac.ts';
import { recipientKey, withoutTag } from '../../terms/channels/recipient.ts';
import type { Channel } from '../../terms/message.ts';

/** How a recipient unsubscribed. */
export type OptOutSource = 'one_click' | 'sms_stop' | 'provider' | 'manual' | 'import';

/** A recipient of a brand. */
export interface OptOutAddress {
  brandId: number;
  channel: Channel;
  /** An email address, or a phone number in E.164 form. */
  address: string;
  /** Whether `ada+news@example.com` and `ada@example.com` are one recipient: the setting SUPPRESS_PLUS_ADDRESSES. */
  plusAddresses?: boolean;
}

export interface OptOut {
  accountId: number;
  source: OptOutSource;
  /** The message that the recipient replied to or unsubscribed in, if it is known. */
  messageId: number | null;
}

/** Size of a full HMAC-SHA-256. */
const HASH_BYTES = 32;

type OptOutKeys = Pick<Keyring, 'subkey' | 'accepted'>;

/** The forms under which the address may be stored, beginning with the address itself. */
function keysOf({ channel, address, plusAddresses = false }: OptOutAddress): string[] {
  const key = recipientKey(channel, address);
  if (key === null) return [];
  return plusAddresses ? [...new Set([key, withoutTag(key)])] : [key];
}

function hashWith(secret: Buffer, key: string, { brandId, channel }: OptOutAddress): Buffer {
  return mac(secret, `opt-out:${brandId}:${channel}:${key}`, HASH_BYTES);
}

/**
 * Returns the HMACs to store an opt-out under, beginning with that of the address itself. It is stored under each of
 * them, so that it stays in force if the setting changes.
 */
export function optOutHashes(keyring: OptOutKeys, address: OptOutAddress): Buffer[] {
  const { key: secret } = keyring.subkey('opt-out');
  return keysOf(address).map((key) => hashWith(secret, key, address));
}

/** The HMACs under every accepted secret: an opt-out may have been stored under any of them. */
export function acceptedHashes(keyring: OptOutKeys, address: OptOutAddress): Buffer[] {
  const keys = keysOf(address);
  return keyring.accepted('opt-out').flatMap(({ key }) => keys.map((each) => hashWith(key, each, address)));
}

/** Whether an opt-out of the address may be stored under the HMAC. */
export function isOptOutHash(keyring: OptOutKeys, address: OptOutAddress, hash: Buffer): boolean {
  return acceptedHashes(keyring, address).some((each) => each.equals(hash));
}

/**
 * Records that a recipient unsubscribed from a brand. An opt-out that is in force keeps its time and source.
 * @param hashes from {@link optOutHashes}, directly or in a signed token
 * @returns whether the recipient was subscribed before
 */
export async function recordHashedOptOut(
  db: Queryable,
  hashes: readonly Buffer[],
  optOut: OptOut & Pick<OptOutAddress, 'brandId' | 'channel'>,
): Promise<boolean> {
  const { accountId, brandId, channel, source, messageId } = optOut;
  const { rowCount } = await db.query(
    `insert into opt_outs as o (brand_id, channel, address_hash, account_id, source, message_id)
     select $1, $2, h.hash, $4, $5, $6 from unnest($3::bytea[]) as h (hash) order by h.hash
     on conflict (brand_id, channel, address_hash) do update set
       source = excluded.source, message_id = excluded.message_id, import_id = null, opted_out_at = now(),
       ended_at = null
     where o.ended_at is not null`,
    [brandId, channel, hashes, accountId, source, messageId],
  );
  return (rowCount ?? 0) > 0;
}

/**
 * Records that recipients unsubscribed from a brand, as a file says. Opt-outs that are in force keep their times and
 * sources.
 * @param optOuts `at`: when each of them unsubscribed; null: unknown, so that it counts as now
 */
export async function recordImportedOptOuts(
  db: Queryable,
  keyring: OptOutKeys,
  { accountId, importId, ...of }: Omit<OptOutAddress, 'address'> & { accountId: number; importId: number },
  optOuts: readonly { address: string; at: Date | null }[],
): Promise<void> {
  const times = new Map<string, Date | null>();
  await mapInTurns(optOuts, ({ address, at }) => {
    for (const hash of optOutHashes(keyring, { ...of, address })) times.set(hash.toString('hex'), at);
  });
  if (times.size === 0) return;
  await db.query(
    `insert into opt_outs as o (brand_id, channel, address_hash, account_id, source, import_id, opted_out_at)
     select $1, $2, decode(h.hash, 'hex'), $3, 'import', $4, coalesce(h.at, now())
     from unnest($5::text[], $6::timestamptz[]) as h (hash, at) order by decode(h.hash, 'hex')
     on conflict (brand_id, channel, address_hash) do update set
       source = excluded.source, message_id = null, import_id = excluded.import_id,
       opted_out_at = excluded.opted_out_at, ended_at = null
     where o.ended_at is not null`,
    [of.brandId, of.channel, accountId, importId, [...times.keys()], [...times.values()]],
  );
}

/**
 * Records that a recipient unsubscribed from a brand. Opt-outs outlive contacts and messages, so only an HMAC of the
 * address is stored.
 * @returns whether the recipient was subscribed before; also false if the address is not valid for the channel
 */
export async function recordOptOut(
  db: Queryable,
  keyring: OptOutKeys,
  optOut: OptOut & OptOutAddress,
): Promise<boolean> {
  const hashes = optOutHashes(keyring, optOut);
  // The insert itself finds an opt-out under the same HMAC. Only other forms and former secrets need a look-up.
  const mayDiffer = hashes.length > 1 || keyring.accepted('opt-out').length > 1;
  const before = mayDiffer && (await isOptedOut(db, keyring, optOut));
  // The opt-out of the address without the tag may end independently, so each address has its own.
  const own = { ...optOut, plusAddresses: false };
  if (before && (hashes.length === 1 || (await isOptedOut(db, keyring, own)))) return false;
  return (await recordHashedOptOut(db, hashes, optOut)) && !before;
}

/**
 * Ends the opt-out of a recipient who subscribed again. The opt-out of the address without the tag ends too if both
 * were stored together; otherwise that address has unsubscribed separately and stays so.
 * @returns whether there was one
 */
export async function endOptOut(
  db: Queryable,
  keyring: OptOutKeys,
  address: OptOutAddress,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update opt_outs o set ended_at = now()
     where brand_id = $1 and channel = $2 and address_hash = any($3) and ended_at is null
       and (address_hash = any($4) or exists (
         select 1 from opt_outs own where own.brand_id = $1 and own.channel = $2 and own.address_hash = any($4)
           and own.ended_at is null and own.opted_out_at = o.opted_out_at
           and own.message_id is not distinct from o.message_id))`,
    [
      address.brandId,
      address.channel,
      acceptedHashes(keyring, address),
      acceptedHashes(keyring, { ...address, plusAddresses: false }),
    ],
  );
  return (rowCount ?? 0) > 0;
}

/** Whether the recipient unsubscribed from the brand and has not subscribed again. */
export async function isOptedOut(
  db: Queryable,
  keyring: OptOutKeys,
  address: OptOutAddress,
): Promise<boolean> {
  const { rows } = await db.query<{ found: boolean }>(
    `select exists (
       select 1 from opt_outs
       where brand_id = $1 and channel = $2 and address_hash = any($3) and ended_at is null) as found`,
    [address.brandId, address.channel, acceptedHashes(keyring, address)],
  );
  return rows[0]?.found ?? false;
}

/**
 * SQL: when a recipient unsubscribed from the brand; null if the recipient has not, or has subscribed again.
 * @param brandId SQL
 * @param hashes SQL: {@link acceptedHashes} of the recipient
 */
export const optedOutAtSql = (brandId: string, channel: Channel, hashes: string): string => `(
  select max(opted_out_at) from opt_outs
  where brand_id = ${brandId} and channel = '${channel}' and address_hash = any(${hashes}) and ended_at is null)`;

/** Recipients of one brand and channel. */
export type OptOutAddresses = Omit<OptOutAddress, 'address'> & { addresses: readonly string[] };

/**
 * Finds which of many recipients unsubscribed from the brand and have not subscribed again, in one statement.
 * @returns when each of them unsubscribed, by the address as given
 */
export async function findOptOuts(
  db: Queryable,
  keyring: OptOutKeys,
  { addresses, ...of }: OptOutAddresses,
): Promise<Map<string, Date>> {
  const byHash = new Map<string, string[]>();
  await mapInTurns(addresses, (address) => {
    for (const hash of acceptedHashes(keyring, { ...of, address })) {
      const key = hash.toString('base64');
      byHash.set(key, [...(byHash.get(key) ?? []), address]);
    }
  });
  if (byHash.size === 0) return new Map();
  const hashes = [...byHash.keys()].map((key) => Buffer.from(key, 'base64'));
  const { rows } = await db.query<{ address_hash: Buffer; opted_out_at: Date }>(
    `select address_hash, opted_out_at from opt_outs
     where brand_id = $1 and channel = $2 and address_hash = any($3) and ended_at is null`,
    [of.brandId, of.channel, hashes],
  );
  return new Map(
    rows.flatMap((row) =>
      (byHash.get(row.address_hash.toString('base64')) ?? []).map((address): [string, Date] => [
        address,
        row.opted_out_at,
      ]),
    ),
  );
}
