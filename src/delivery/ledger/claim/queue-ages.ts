import type { Queryable } from '../../../platform/db/queryable.ts';
import { firstDueSql } from '../../terms/backlog.ts';
import { messageClasses } from '../../terms/message.ts';

/** How old the due messages of one channel and class are. */
export interface QueueAge {
  channel: string;
  class: string;
  /** Number of backlogs with due messages. */
  backlogs: number;
  /** How long the first of them has been due, in seconds. */
  ageSeconds: number;
}

const classNames = new Map(Object.entries(messageClasses).map(([name, value]) => [value as number, name]));

/** Reads how long due messages have waited. */
export async function readQueueAges(db: Queryable): Promise<QueueAge[]> {
  const { rows } = await db.query<Omit<QueueAge, 'class'> & { class: number }>(
    `${firstDueSql}
    select channel, class, count(*)::int as backlogs, extract(epoch from now() - min(due_at))::float8 as "ageSeconds"
    from backlog where due_at <= now() group by 1, 2 order by 1, 2`,
  );
  return rows.map((row) => ({ ...row, class: classNames.get(row.class) ?? String(row.class) }));
}
