import type { OptOutSource } from '../../delivery/ledger/consent/opt-outs.ts';
import {
  acceptedHashes,
  endOptOut,
  optOutHashes,
  recordOptOut,
} from '../../delivery/ledger/consent/opt-outs.ts';
import { endUnapplied, keepUnapplied } from '../../delivery/ledger/consent/unapplied-opt-outs.ts';
import { withoutTag } from '../../delivery/terms/channels/recipient.ts';
import { type Channel, channelFacts, channels } from '../../delivery/terms/channels/index.ts';
import { AppError } from '../../errors.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';

/** What reading and writing the opt-out ledger needs. */
export interface ConsentDeps {
  keyring: Pick<Keyring, 'subkey' | 'accepted'>;
  /** The setting SUPPRESS_PLUS_ADDRESSES. */
  plusAddresses: boolean;
}

/**
 * Takes the brand's consent lock until the end of the transaction. Transactions that add addresses to contacts share
 * it, and read the opt-out ledger afterwards. A transaction that unsubscribes an address has it alone. Without the
 * lock, a contact created while its address unsubscribes would not see the opt-out, and the opt-out would not see the
 * contact.
 *
 * Take it before any lock of a contact, and never first shared and then alone in one transaction: two such transactions
 * deadlock.
 */
export async function lockConsent(trx: Queryable, brandId: number, mode: ConsentLock): Promise<void> {
  await trx.query(consentLockSql(brandId, mode));
}

type ConsentLock = 'shared' | 'alone';

function consentLockSql(brandId: number, mode: ConsentLock): string {
  const lock = mode === 'shared' ? 'pg_advisory_xact_lock_shared' : 'pg_advisory_xact_lock';
  return `select ${lock}(hashtextextended('consent ${brandId}', 0))`;
}

/**
 * Maximum number of rounds. A second one is rare: another transaction added or removed one of the addresses at the same
 * time.
 */
const MAX_ROUNDS = 5;
const UNIQUE_VIOLATION = '23505';
const DEADLOCK = '40P01';

/**
 * Takes the consent lock like {@link lockConsent} and runs `work`. Runs it again if another transaction took one of its
 * addresses first.
 * @param work returns null if it must run again
 * @throws AppError unavailable after five rounds
 */
export async function withConsent<T>(
  trx: Queryable,
  { brandId }: BrandScope,
  lock: ConsentLock,
  work: () => Promise<T | null>,
): Promise<T> {
  // One round trip for both. The ledger is read in later statements, which see what was committed before the lock.
  await trx.query(`${consentLockSql(brandId, lock)}; savepoint writing_contact`);
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    try {
      const result = await work();
      if (result !== null) return result;
    } catch (error) {
      const { code } = error as { code?: string };
      if (code !== UNIQUE_VIOLATION && code !== DEADLOCK) throw error;
    }
    await trx.query('rollback to savepoint writing_contact');
  }
  throw new AppError('unavailable', 'other requests are changing this contact; try again');
}

/** The source of an opt-in: the API, or the keyword START. */
export type OptInSource = 'manual' | 'sms_start';

/** A change of one channel's subscription. */
export type SubscriptionChange = {
  accountId: number;
  brandId: number;
  channel: Channel;
  /** The message that the recipient answered, if known. */
  messageId?: number | null;
  /**
   * Whose subscription: that of a contact, or of an address (in the form in which addresses are compared) with or
   * without a contact.
   */
  of: { contactId: number } | { key: string };
} & ({ subscribed: true; source: OptInSource } | { subscribed: false; source: OptOutSource });

/** The contact that a change concerned. */
export interface ChangedSubscription {
  /** Null: no contact has the address. */
  contactId: number | null;
  /** Null: the contact has no such channel. */
  key: string | null;
  /** Whether the contact's channel was different before. */
  changed: boolean;
}

interface ChannelRow {
  id: number;
  key: string | null;
  changed: boolean;
}

/**
 * Changes the contact's columns and adds the change to its history. Before a first change, it also adds the original
 * opt-in.
 */
async function changeColumns(trx: Queryable, change: SubscriptionChange): Promise<ChannelRow | null> {
  const { brandId, channel, subscribed, source, of } = change;
  const { kind: prefix, key: keyColumn } = channelFacts[channel].contact;
  const found = 'contactId' in of ? 'id = $2' : `${keyColumn} = $2`;
  const { rows } = await trx.query<ChannelRow>(
    `with found as materialized (
       select id, ${keyColumn} as key, ${prefix}_subscribed as subscribed,
         ${prefix}_opt_in_at as opt_in_at, ${prefix}_opt_in_source as opt_in_source
       from contacts where brand_id = $1 and ${found} for no key update
     ), changing as (
       select * from found where key is not null and subscribed <> $3
     ), changed as (
       update contacts c set ${prefix}_subscribed = $3, ${prefix}_updated_at = now(), updated_at = now(),
         ${prefix}_opt_in_at = case when $3 then now() else ${prefix}_opt_in_at end,
         ${prefix}_opt_in_source = case when $3 then $4 else ${prefix}_opt_in_source end,
         ${prefix}_opt_out_at = case when $3 then null else now() end
       from changing g where c.id = g.id
     ), opted_in as (
       insert into contact_subscriptions (contact_id, channel, subscribed, source, created_at)
       select g.id, $5, true, g.opt_in_source, g.opt_in_at from changing g
       where not $3 and g.opt_in_at is not null and not exists (
         select 1 from contact_subscriptions s where s.contact_id = g.id and s.channel = $5)
     ), noted as (
       insert into contact_subscriptions (contact_id, channel, subscribed, source)
       select id, $5, $3, $4 from changing
     )
     select id, key, exists (select 1 from changing) as changed from found`,
    [brandId, 'contactId' in of ? of.contactId : of.key, subscribed, source, channel],
  );
  return rows[0] ?? null;
}

/**
 * Changes a subscription: the channel of the contact that has the address, and the brand's opt-out ledger. Nothing else
 * changes subscriptions of existing addresses. If the subscription already is as wanted, nothing changes. After the
 * commit of an opt-out, wait for the recipient fence before you respond.
 * @param trx the caller's transaction, in which no contact is locked yet
 */
export async function setSubscription(
  trx: Queryable,
  { keyring, plusAddresses }: ConsentDeps,
  change: SubscriptionChange,
): Promise<ChangedSubscription> {
  await lockConsent(trx, change.brandId, change.subscribed ? 'shared' : 'alone');
  return changeSubscription(trx, { keyring, plusAddresses }, change);
}

/**
 * Unsubscribes the other contacts that SUPPRESS_PLUS_ADDRESSES makes the same recipient: their addresses differ only by
 * the tag.
 */
async function unsubscribeTagged(trx: Queryable, change: SubscriptionChange, key: string): Promise<void> {
  const { rows } = await trx.query<{ id: number }>(
    `select id from contacts where brand_id = $1 and email_subscribed and email_key <> $3 and id = any(array(
       select id from contacts where brand_id = $1 and email_key = $2
       union
       select id from contacts
       where brand_id = $1 and email_key like '%+%' and address_without_tag(email_key) = $2))
     order by id for no key update`,
    [change.brandId, withoutTag(key), key],
  );
  for (const { id } of rows) await changeColumns(trx, { ...change, of: { contactId: id } });
}

/** Like {@link setSubscription}. @param trx a transaction that already has the consent lock */
export async function changeSubscription(
  trx: Queryable,
  { keyring, plusAddresses }: ConsentDeps,
  change: SubscriptionChange,
): Promise<ChangedSubscription> {
  const { accountId, brandId, channel, of } = change;
  const row = await changeColumns(trx, change);
  const address = row?.key ?? ('key' in of ? of.key : null);
  if (address !== null) {
    const ledger = { brandId, channel, address, plusAddresses };
    if (change.subscribed) await endOptOut(trx, keyring, ledger);
    else {
      const { source, messageId = null } = change;
      if (plusAddresses && channelFacts[channel].address.hasTags)
        await unsubscribeTagged(trx, change, address);
      await recordOptOut(trx, keyring, { ...ledger, accountId, source, messageId });
    }
  }
  return { contactId: row?.id ?? null, key: row?.key ?? null, changed: row?.changed ?? false };
}

/**
 * Unsubscribes all channels of contacts, as their brand's clients do.
 * @param trx a transaction that has the consent lock alone
 * @returns the number of contacts that had a subscribed channel
 */
export async function unsubscribeContacts(
  trx: Queryable,
  deps: ConsentDeps,
  { accountId, brandId }: BrandScope,
  ids: readonly number[],
): Promise<number> {
  const changed = new Set<number>();
  for (const contactId of ids) {
    for (const channel of channels) {
      const change = { accountId, brandId, channel, of: { contactId } };
      const done = await changeSubscription(trx, deps, { ...change, subscribed: false, source: 'manual' });
      if (done.changed) changed.add(contactId);
    }
  }
  return changed.size;
}

/** A message that a provider refused because its recipient had sent STOP to the provider. */
export interface RefusedRecipient {
  messageId: number;
  accountId: number;
  brandId: number;
  channel: Channel;
  /** The form in which addresses are compared. */
  key: string;
}

/**
 * How long the worker waits before it does the work of {@link recordRefusedOptOut}, which may have failed or died with
 * its process.
 */
const REFUSED_IS_LATE_SECONDS = 60;

/**
 * Records recipients whose opt-outs only a provider knew in the opt-out ledger. It takes no consent lock and changes no
 * contact: call {@link recordRefusedOptOut} for each recipient after the commit.
 */
export async function recordRefusedInLedger(
  trx: Queryable,
  keyring: ConsentDeps['keyring'],
  refused: readonly RefusedRecipient[],
): Promise<void> {
  const hashed = refused.map((each) => {
    const { brandId, channel, key: address } = each;
    const [hash = Buffer.alloc(0)] = optOutHashes(keyring, { brandId, channel, address });
    return { ...each, address, hash };
  });
  // Each insert locks a row, so all transactions use the same order.
  hashed.sort(
    (one, other) =>
      one.brandId - other.brandId || one.channel.localeCompare(other.channel) || one.hash.compare(other.hash),
  );
  for (const { accountId, brandId, channel, messageId, address, hash } of hashed) {
    const optOut = { accountId, brandId, channel, messageId, address, source: 'provider' } as const;
    if (!(await recordOptOut(trx, keyring, optOut))) continue;
    await keepUnapplied(trx, { brandId, channel }, hash, REFUSED_IS_LATE_SECONDS);
  }
}

/** Unsubscribes a recipient whose opt-out only a provider knew. */
export async function recordRefusedOptOut(
  trx: Queryable,
  keyring: ConsentDeps['keyring'],
  { accountId, brandId, channel, messageId, key }: RefusedRecipient,
): Promise<void> {
  const change = { accountId, brandId, channel, messageId, of: { key } };
  await setSubscription(
    trx,
    { keyring, plusAddresses: false },
    { ...change, subscribed: false, source: 'provider' },
  );
  const of = { brandId, channel };
  await endUnapplied(trx, of, acceptedHashes(keyring, { ...of, address: key }));
}
