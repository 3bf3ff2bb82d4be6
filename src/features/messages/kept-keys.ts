import type { MessageKey } from '../../delivery/ledger/accept/write-messages.ts';
import { IDEMPOTENCY_DAYS, keySpace } from '../../platform/db/idempotency.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { MessageDraft } from './draft.ts';

export const MESSAGES_ENDPOINT = 'POST /v1/my/messages';
const LIVE_KEYS = keySpace(MESSAGES_ENDPOINT, false);
export const TEST_KEYS = keySpace(MESSAGES_ENDPOINT, true);

/** A message with or without an idempotency key. */
interface Keyed {
  draft: Pick<MessageDraft, 'brand_id' | 'test'>;
  idempotencyKey: string | null;
  fingerprint: Buffer | null;
}

/** The row of an earlier request with the same key. */
export interface KeptKey {
  fingerprint: Buffer;
  status: number;
  resource_id: number;
}

/** The key of a message as it is kept; null if it has none. */
export const messageKeyOf = ({ draft, idempotencyKey: key, fingerprint }: Keyed): MessageKey | null =>
  key === null
    ? null
    : { endpoint: draft.test ? TEST_KEYS : LIVE_KEYS, key, fingerprint: fingerprint ?? Buffer.alloc(0) };

/** Finds the keys that earlier requests took, by one statement. */
export async function findKept<Row extends Keyed>(
  client: Queryable,
  rows: readonly Row[],
): Promise<Map<Row, KeptKey>> {
  const keyed = rows.filter((row) => row.idempotencyKey !== null);
  if (keyed.length === 0) return new Map();
  const result = await client.query<KeptKey & { index: number }>(
    `select asked.index::int as index, kept.fingerprint, kept.status, kept.resource_id
     from unnest($1::bigint[], $2::text[], $3::text[]) with ordinality as asked (brand_id, endpoint, key, index)
     join idempotency_keys kept using (brand_id, endpoint, key)
     where kept.created_at >= now() - interval '${IDEMPOTENCY_DAYS} days'`,
    [
      keyed.map((row) => row.draft.brand_id),
      keyed.map((row) => messageKeyOf(row)?.endpoint),
      keyed.map((row) => row.idempotencyKey),
    ],
  );
  return new Map(result.rows.map((kept) => [keyed[kept.index - 1] as Row, kept]));
}
