import type { Queryable } from '../db/queryable.ts';

/** @returns the namespace's id as the engine last said it, or null before its first time */
export async function recallNamespace(client: Queryable): Promise<string | null> {
  const { rows } = await client.query<{ namespace_id: string }>('select namespace_id from engine_state');
  return rows[0]?.namespace_id ?? null;
}

export async function rememberNamespace(client: Queryable, namespaceId: string): Promise<void> {
  await client.query(
    `insert into engine_state (namespace_id) values ($1)
     on conflict (id) do update set namespace_id = excluded.namespace_id, seen_at = now()`,
    [namespaceId],
  );
}
