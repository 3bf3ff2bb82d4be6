/** Messages with a time to send. */
import type { Queryable } from '../../src/platform/db/queryable.ts';

/** Gives waiting messages a time to send, as if they had been accepted with it. */
export async function schedule(db: Queryable, ids: readonly number[], at: Date): Promise<void> {
  await db.query(
    `with q as (update send_queue set due_at = $2, queued_at = $2 where message_id = any($1))
     update messages set scheduled_at = $2 where id = any($1)`,
    [ids, at],
  );
}

export const inMinutes = (minutes: number): Date => new Date(Date.now() + minutes * 60_000);
