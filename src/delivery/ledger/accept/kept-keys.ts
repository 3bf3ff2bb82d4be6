import {
  IDEMPOTENCY_DAYS,
  type IdempotentRequest,
  isSameFingerprint,
  type KeptKey,
} from '../../../platform/db/idempotency.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';

/** The idempotency key that a message is sent with. */
export type MessageKey = Omit<IdempotentRequest, 'brandId'> & {
  /** False: the caller did not choose it, so neither the message nor its events show it. */
  shown?: boolean;
};

/** A message with or without a key. */
export interface Keyed {
  brand_id: number;
  key?: MessageKey | null | undefined;
}

/** What becomes of a message whose key an earlier request has taken. */
export type KeptOutcome =
  /** The earlier request had the same payload. */
  | { kind: 'replayed'; id: number; status: number }
  /** It had another payload. */
  | { kind: 'conflict' };

/** @param fingerprint of the later request */
export const keptOutcome = (kept: KeptKey, fingerprint: Buffer | null | undefined): KeptOutcome =>
  isSameFingerprint(kept.fingerprint, fingerprint)
    ? { kind: 'replayed', id: kept.resource_id, status: kept.status }
    : { kind: 'conflict' };

/** Finds the keys that earlier requests took, by one statement. */
export async function findKept<Message extends Keyed>(
  client: Queryable,
  messages: readonly Message[],
): Promise<Map<Message, KeptKey>> {
  const keyed = messages.filter(({ key }) => key);
  if (keyed.length === 0) return new Map();
  const result = await client.query<KeptKey & { index: number }>(
    `select asked.index::int as index, kept.fingerprint, kept.status, kept.resource_id
     from unnest($1::bigint[], $2::text[], $3::text[]) with ordinality as asked (brand_id, endpoint, key, index)
     join idempotency_keys kept using (brand_id, endpoint, key)
     where kept.created_at >= now() - interval '${IDEMPOTENCY_DAYS} days'`,
    [
      keyed.map(({ brand_id }) => brand_id),
      keyed.map(({ key }) => key?.endpoint),
      keyed.map(({ key }) => key?.key),
    ],
  );
  return new Map(result.rows.map((kept) => [keyed[kept.index - 1] as Message, kept]));
}
