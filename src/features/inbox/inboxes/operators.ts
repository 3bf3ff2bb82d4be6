/** What operators do with inboxes, for the command. */
import { createHash, randomBytes } from 'node:crypto';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { findAccount, logOperatorChange, setAccount } from '../../accounts/service.ts';

const TOKEN_BYTES = 32;

/**
 * Lets an account have inboxes, or no longer. An account that may not have inboxes keeps them, and its conversations,
 * but mail to them is refused.
 * @param actor who decides, for the log of the account
 * @throws AppError not_found
 */
export async function allowInboxes(
  db: Queryable,
  accountId: number,
  allowed: boolean,
  actor: string,
): Promise<void> {
  await setAccount(db, accountId, { capabilities: { inboxes: allowed } }, actor);
}

/** An inbox as operators see it. */
export interface ListedInbox {
  id: number;
  account_id: number;
  brand_id: number;
  address: string;
  enabled: boolean;
  /** Whether the account may have inboxes. */
  allowed: boolean;
  created_at: Date;
}

/** @param accountId null: the inboxes of all accounts */
export async function listAllInboxes(db: Queryable, accountId: number | null): Promise<ListedInbox[]> {
  const { rows } = await db.query<ListedInbox>(
    `select i.id, i.account_id, i.brand_id, i.address, i.enabled,
       coalesce(a.capabilities -> 'inboxes' = 'true', false) as allowed, i.created_at
     from inboxes i join accounts a on a.id = i.account_id
     where i.removed_at is null and ($1::bigint is null or i.account_id = $1) order by i.account_id, i.id`,
    [accountId],
  );
  return rows;
}

/** The form in which a token is stored. */
export function inboundTokenDigest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/**
 * Gives an account a new token for `POST /inbound/<token>`. An earlier one is refused from then on.
 * @param trx the caller's transaction
 * @returns the token, which is not stored and cannot be shown again
 * @throws AppError not_found
 */
export async function replaceInboundToken(trx: Queryable, accountId: number, actor: string): Promise<string> {
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  await findAccount(trx, accountId);
  await trx.query(
    `insert into inbound_tokens (account_id, digest) values ($1, $2)
     on conflict (account_id) do update set digest = excluded.digest, created_at = now()`,
    [accountId, inboundTokenDigest(token)],
  );
  await logOperatorChange(trx, { accountId, actor, action: 'inbox token', changes: {} });
  return token;
}
