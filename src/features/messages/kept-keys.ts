import type { Addition } from '../../delivery/ledger/accept/write-statement.ts';
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
}

/** The row of an earlier request with the same key. */
export interface KeptKey {
  fingerprint: Buffer;
  status: number;
  resource_id: number;
}

/**
 * Takes the idempotency keys. Two requests with the same key: the second waits until the first has committed, and then
 * its message is not admitted.
 */
export const idempotencyKeys: Addition = {
  name: 'keys',
  fields: { fingerprint: 'text' },
  admit: {
    cte: `keys as (
      insert into idempotency_keys as kept (brand_id, endpoint, key, fingerprint, status, resource_id)
      select brand_id, case when test then '${TEST_KEYS}' else '${LIVE_KEYS}' end, idempotency_key,
        decode(fingerprint, 'base64'), 201, id
      from input where idempotency_key is not null
      order by brand_id, 2, idempotency_key
      on conflict (brand_id, endpoint, key) do update
        set fingerprint = excluded.fingerprint, resource_id = excluded.resource_id, created_at = now()
        where kept.created_at < now() - interval '${IDEMPOTENCY_DAYS} days'
      returning resource_id
    )`,
    condition: 'i.idempotency_key is null or i.id in (select resource_id from keys)',
  },
};

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
      keyed.map((row) => (row.draft.test ? TEST_KEYS : LIVE_KEYS)),
      keyed.map((row) => row.idempotencyKey),
    ],
  );
  return new Map(result.rows.map((kept) => [keyed[kept.index - 1] as Row, kept]));
}
