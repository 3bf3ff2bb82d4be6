import { findOptOuts } from '../../delivery/ledger/consent/opt-outs.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { type ConsentDeps, lockConsent } from './consent.ts';
import { findIds } from './model.ts';

/** A parsed email address: as shown, and in the form in which addresses are compared. */
export interface EmailToEnsure {
  address: string;
  key: string;
}

export interface EnsuredContact {
  id: number;
  created: boolean;
}

/**
 * Maximum number of rounds: a contact that stops an insert may be deleted before it is read. More than one is hardly
 * possible.
 */
const MAX_ROUNDS = 5;

async function addKnown(
  trx: Queryable,
  brandId: number,
  missing: Map<string, EmailToEnsure>,
  found: Map<string, EnsuredContact>,
): Promise<void> {
  for (const { id, email_key: key } of await findIds(trx, brandId, { emailKeys: [...missing.keys()] })) {
    if (key === null || !missing.delete(key)) continue;
    found.set(key, { id, created: false });
  }
}

async function insertMissing(
  trx: Queryable,
  deps: ConsentDeps,
  { accountId, brandId }: BrandScope,
  missing: Map<string, EmailToEnsure>,
  source: string,
  subscribed: boolean,
): Promise<{ id: number; email_key: string }[]> {
  const given = [...missing.values()];
  const optOuts = await findOptOuts(trx, deps.keyring, {
    brandId,
    channel: 'email',
    plusAddresses: deps.plusAddresses,
    addresses: given.map(({ key }) => key),
  });
  // In the order of keys, so that two transactions that create the same contacts wait for each other and do not
  // deadlock.
  const { rows } = await trx.query<{ id: number; email_key: string }>(
    `insert into contacts (account_id, brand_id, source, email, email_key, email_subscribed, email_opt_out_at,
       email_created_at, email_updated_at)
     select $1, $2, $3, n.address, n.key, $7 and n.opted_out_at is null, n.opted_out_at, now(), now()
     from unnest($4::text[], $5::text[], $6::timestamptz[]) as n (address, key, opted_out_at)
     order by n.key
     on conflict (brand_id, email_key) where email_key is not null do nothing
     returning id, email_key`,
    [
      accountId,
      brandId,
      source,
      given.map(({ address }) => address),
      given.map(({ key }) => key),
      given.map(({ key }) => optOuts.get(key) ?? null),
      subscribed,
    ],
  );
  return rows;
}

/**
 * Finds the contacts of a brand that have these email addresses, and creates those that do not exist, in a few
 * statements for all of them. New contacts are subscribed without an opt-in time, unless the address has unsubscribed
 * from the brand, or `subscribed` is false. Existing contacts do not change.
 * @param trx the caller's transaction, in which no contact is locked yet
 * @param source what created them, such as `event`: the contacts' `source`
 * @returns the contacts by `key`; one for each address
 */
export async function ensureContacts(
  trx: Queryable,
  deps: ConsentDeps,
  tenant: BrandScope,
  addresses: readonly EmailToEnsure[],
  source: string,
  { subscribed = true }: { subscribed?: boolean } = {},
): Promise<Map<string, EnsuredContact>> {
  const found = new Map<string, EnsuredContact>();
  const missing = new Map(addresses.map((each) => [each.key, each]));
  if (missing.size > 0) await addKnown(trx, tenant.brandId, missing, found);
  if (missing.size > 0) await lockConsent(trx, tenant.brandId, 'shared');
  for (let round = 0; missing.size > 0; round += 1) {
    if (round === MAX_ROUNDS) throw new Error('contacts are created and deleted at the same time');
    for (const { id, email_key: key } of await insertMissing(
      trx,
      deps,
      tenant,
      missing,
      source,
      subscribed,
    )) {
      missing.delete(key);
      found.set(key, { id, created: true });
    }
    // Other transactions have created the rest in the meantime.
    if (missing.size > 0) await addKnown(trx, tenant.brandId, missing, found);
  }
  return found;
}
