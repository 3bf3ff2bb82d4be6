/** What a send-only key sees: the messages that it sent, and nothing of what others did with an idempotency key. */
import { sendKeyOf, type Tenant } from '../../platform/auth/tenant.ts';
import { foreignKeyConflict, IDEMPOTENCY_DAYS } from '../../platform/db/idempotency.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

/** Whether the caller sees a message of its brand. */
export function maySee(
  caller: Pick<Tenant, 'actor'>,
  { send_key_id: sentBy = null }: { send_key_id?: number | null },
): boolean {
  const sendKey = sendKeyOf(caller);
  return sendKey === null || sentBy === sendKey;
}

/**
 * Finds the idempotency keys of messages with which others than the send-only key that calls have sent. They are looked
 * for before payloads are compared: whether those are equal would show what the others sent.
 * @param endpoint the space of the keys
 * @returns none for other callers, which may read what they replay
 */
export async function findForeignKeys(
  db: Queryable,
  tenant: Pick<Tenant, 'actor' | 'brandId'>,
  endpoint: string,
  keys: readonly string[],
): Promise<Set<string>> {
  const sendKey = sendKeyOf(tenant);
  if (sendKey === null || keys.length === 0) return new Set();
  const { rows } = await db.query<{ key: string }>(
    // The messages are looked up by their ids, whatever the planner expects of their number.
    `select k.key from idempotency_keys k
     left join lateral (
       select m.send_key_id from messages m where m.id = k.resource_id and m.brand_id = $1 offset 0) m on true
     where k.brand_id = $1 and k.endpoint = $2 and k.key = any($3)
       and k.created_at >= now() - make_interval(days => $4)
       and m.send_key_id is distinct from $5`,
    [tenant.brandId, endpoint, keys, IDEMPOTENCY_DAYS, sendKey],
  );
  return new Set(rows.map(({ key }) => key));
}

/** @throws AppError idempotency_conflict if the caller is a send-only key, and others have sent with the idempotency key */
export async function requireOwnKey(
  db: Queryable,
  tenant: Pick<Tenant, 'actor' | 'brandId'>,
  endpoint: string,
  key: string,
): Promise<void> {
  if ((await findForeignKeys(db, tenant, endpoint, [key])).size > 0) throw foreignKeyConflict();
}
