/** Keeps what became of the messages of a batch for as long as its idempotency key. */
import { hash } from 'node:crypto';
import type pg from 'pg';
import { MESSAGE_LIFETIME } from '../../delivery/terms/message.ts';
import { AppError } from '../../errors.ts';
import { sendKeyOf, type Tenant } from '../../platform/auth/tenant.ts';
import {
  foreignKeyConflict,
  IDEMPOTENCY_DAYS,
  type IdempotentRequest,
  isSameFingerprint,
  keyConflict,
} from '../../platform/db/idempotency.ts';
import type { BatchError } from './batch-schema.ts';
import type { HiddenKey } from './message-key.ts';

export const BATCH_ENDPOINT = 'POST /v1/my/messages/batch';

/** What became of a message. */
export type KeptResult = { id: number; replayed?: true } | { error: BatchError };

/** The space of the keys of messages that have none of their own. */
export const ITEMS_ENDPOINT = `${BATCH_ENDPOINT} message`;

/** The key of a message that has none of its own, in a batch with a key: the batch is repeated by these. */
export const itemKeyOf = (batchKey: string, place: number): HiddenKey => ({
  endpoint: ITEMS_ENDPOINT,
  key: `${hash('sha256', batchKey, 'base64url').slice(0, 32)}/${place}`,
});

interface KeptBatch {
  id: number;
  fingerprint: Buffer;
  send_key_id: number | null;
  outcomes: KeptResult[];
}

async function findRow(
  pool: pg.Pool,
  { brandId, endpoint, key }: IdempotentRequest,
): Promise<KeptBatch | null> {
  const { rows } = await pool.query<KeptBatch>({
    name: 'find_message_batch',
    text: `select b.id, kept.fingerprint, b.send_key_id, b.outcomes
      from idempotency_keys kept join message_batches b on b.id = kept.resource_id
      where kept.brand_id = $1 and kept.endpoint = $2 and kept.key = $3
        and kept.created_at >= now() - interval '${IDEMPOTENCY_DAYS} days'`,
    values: [brandId, endpoint, key],
  });
  return rows[0] ?? null;
}

/**
 * Finds what became of the messages of an earlier batch with the same key, in their order.
 * @throws AppError idempotency_conflict if it had another payload, or a send-only key did not send it
 */
export async function findBatch(
  pool: pg.Pool,
  tenant: Tenant,
  request: IdempotentRequest,
): Promise<KeptBatch | null> {
  const found = await findRow(pool, request);
  if (!found) return null;
  const sendKey = sendKeyOf(tenant);
  if (sendKey !== null && found.send_key_id !== sendKey) throw foreignKeyConflict();
  if (!isSameFingerprint(found.fingerprint, request.fingerprint)) throw keyConflict();
  return found;
}

/** What the first one of two equal batches has kept; a message that only the second one could send is there, too. */
const together = (kept: readonly KeptResult[], own: readonly KeptResult[]): KeptResult[] =>
  kept.map((result, place) => {
    const other = own[place];
    return 'error' in result && other && 'id' in other ? other : result;
  });

/**
 * Keeps what became of the messages of a batch. All that are written are committed: if the process ends before this, a
 * repeated batch finds them by their own keys.
 * @param results in the order of the messages
 * @param until the latest time at which one of them is to be sent; null: all are sent at once
 * @returns what is kept, which is that of another request if it has just sent the same batch
 */
export async function keepBatch(
  pool: pg.Pool,
  tenant: Tenant,
  request: IdempotentRequest,
  results: readonly KeptResult[],
  until: Date | null,
): Promise<readonly KeptResult[]> {
  const { accountId, brandId } = tenant;
  const { rowCount } = await pool.query({
    name: 'keep_message_batch',
    text: `with taken as (
        insert into idempotency_keys as kept (brand_id, endpoint, key, fingerprint, status, resource_id, created_at)
        values ($2, $3, $4, $5, 200, nextval('message_batches_id_seq'),
          coalesce($8::timestamptz + ${MESSAGE_LIFETIME}, now()))
        on conflict (brand_id, endpoint, key) do update set
          (fingerprint, status, resource_id, created_at) =
            (excluded.fingerprint, excluded.status, excluded.resource_id, excluded.created_at)
          where kept.created_at < now() - interval '${IDEMPOTENCY_DAYS} days'
        returning resource_id, created_at)
      insert into message_batches (id, account_id, brand_id, send_key_id, outcomes, kept_until)
      select resource_id, $1, $2, $6, $7::jsonb, created_at + interval '${IDEMPOTENCY_DAYS} days' from taken`,
    values: [
      ...[accountId, brandId, request.endpoint, request.key, request.fingerprint],
      ...[sendKeyOf(tenant), JSON.stringify(results), until],
    ],
  });
  if (rowCount === 1) return results;
  const kept = await findBatch(pool, tenant, request);
  if (!kept) throw new AppError('unavailable', 'the batch this key belongs to has just expired; try again');
  const both = together(kept.outcomes, results);
  if (both.some((result, place) => result !== kept.outcomes[place])) {
    await pool.query('update message_batches set outcomes = $2 where id = $1', [
      kept.id,
      JSON.stringify(both),
    ]);
  }
  return both;
}
