import type { Queryable } from '../../platform/db/queryable.ts';

/** The first time a person opened a message, or clicked one of its links. */
export interface Interaction {
  type: 'opened' | 'clicked';
  occurredAt: Date;
  /** Null for an open. */
  url: string | null;
  userAgent: string | null;
}

/** Lists a message's first opens and clicks, by time. */
export async function findInteractions(client: Queryable, messageId: number): Promise<Interaction[]> {
  const { rows } = await client.query<Interaction>(
    `select case link when 0 then 'opened' else 'clicked' end as type, occurred_at as "occurredAt", url,
       user_agent as "userAgent"
     from message_interactions where message_id = $1 order by occurred_at, link`,
    [messageId],
  );
  return rows;
}
