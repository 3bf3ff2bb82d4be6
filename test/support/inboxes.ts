import { parseEmailAddress } from '../../src/delivery/terms/addresses/email.ts';
import type { Database } from '../../src/platform/db/database.ts';

/** Lets an account have inboxes, as `carillon inbox enable` does. */
export async function allowInboxes({ pool }: Database, accountId: number, allowed = true): Promise<void> {
  await pool.query(
    `update accounts set capabilities = capabilities || jsonb_build_object('inboxes', $2::boolean) where id = $1`,
    [accountId, allowed],
  );
}

/**
 * Inserts an inbox. Its domain need not exist.
 * @param options.builtIn the address is that of the brand at MAIL_DOMAIN
 * @returns its id
 */
export async function insertInbox(
  { pool }: Database,
  { accountId, brandId }: { accountId: number; brandId: number },
  address: string,
  { builtIn = false, createContacts = false } = {},
): Promise<number> {
  const parsed = parseEmailAddress(address);
  if ('error' in parsed) throw new Error(`${address} ${parsed.error}`);
  const { rows } = await pool.query<{ id: number }>(
    `insert into inboxes (account_id, brand_id, domain_name, address, address_key, create_contacts)
     values ($1, $2, $3, $4, $5, $6) returning id`,
    [accountId, brandId, builtIn ? null : parsed.domain, parsed.address, parsed.key, createContacts],
  );
  return rows[0]?.id ?? 0;
}
