import type { Queryable } from '../db/queryable.ts';

/** The requests to the engine that wait in the outbox. */
export interface OutboxBacklog {
  priority: number;
  entries: number;
  /** Age of the oldest, in seconds. */
  ageSeconds: number;
}

/** @returns the workflows that a request of priority 2 has yet to start */
export async function awaitingStart(db: Queryable, workflowIds: readonly string[]): Promise<Set<string>> {
  const { rows } = await db.query<{ workflow_id: string }>(
    `select workflow_id from outbox where priority = 2 and kind <> 'signal' and workflow_id = any($1)`,
    [workflowIds],
  );
  return new Set(rows.map((row) => row.workflow_id));
}

export async function readOutboxBacklog(db: Queryable): Promise<OutboxBacklog[]> {
  const { rows } = await db.query<OutboxBacklog>(
    `select priority, count(*)::int as entries, extract(epoch from now() - min(created_at))::float8 as "ageSeconds"
     from outbox group by 1 order by 1`,
  );
  return rows;
}
