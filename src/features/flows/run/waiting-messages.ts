/** What becomes of the messages of a flow that wait in the queue when it is resumed or ended, in pages by message id. */
import { backlogName, type Backlog } from '../../../delivery/backlog.ts';
import { cancelFlowMessages } from '../../../delivery/cancel.ts';
import { STOPPED_SECONDS } from '../../../delivery/send/outcomes.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';

/** A page of a change of messages, by the columns of `flow_changes`. */
interface MessagesPage {
  flow_id: number;
  cursor: number;
  up_to: number;
  data: { paused_seconds?: number } | null;
}

/**
 * SQL: lets a page of messages go that senders have postponed because of the pause. The time of the pause does not count in
 * their lifetime, also if a sender has them now.
 */
const RELEASE = `
  with page as materialized (
    select message_id from send_queue where flow_id = $1 and message_id > $2 and message_id <= $3
    order by message_id limit $4 for update
  )
  update send_queue q set queued_at = q.queued_at + make_interval(secs => $5),
    due_at = case when q.owner is null and q.due_at < now() + interval '${STOPPED_SECONDS} seconds'
      then least(q.due_at, now()) else q.due_at end
  where q.message_id = any(array(select message_id from page))
  returning q.message_id as id, q.channel, q.class, q.account_id as "accountId", q.provider_id as "providerId"`;

/** What one page did. */
export interface ChangedPage {
  /** The last message of the page; null: it was the last page. */
  last: number | null;
  /** Wake `send` with them after the commit. */
  backlogs: string[];
}

/** Releases a page of messages. @param limit messages at most */
export async function releasePage(
  trx: Queryable,
  { flow_id: flowId, cursor, up_to: upTo, data }: MessagesPage,
  limit: number,
): Promise<ChangedPage> {
  const { rows } = await trx.query<Backlog & { id: number }>({
    name: 'release_messages_of_flow',
    text: RELEASE,
    values: [flowId, cursor, upTo, limit, data?.paused_seconds ?? 0],
  });
  return {
    last: rows.length < limit ? null : Math.max(...rows.map(({ id }) => id)),
    backlogs: [...new Set(rows.map(backlogName))],
  };
}

/** Cancels a page of messages. Those that an intent covers may be on their way; if they are not, senders cancel them. */
export async function cancelPage(
  trx: Queryable,
  { flow_id: flowId, cursor, up_to: upTo }: MessagesPage,
  limit: number,
): Promise<ChangedPage> {
  const { rows } = await trx.query<{ id: number }>({
    name: 'waiting_messages_of_flow',
    text: `select message_id as id from send_queue where flow_id = $1 and message_id > $2 and message_id <= $3
           order by message_id limit $4`,
    values: [flowId, cursor, upTo, limit],
  });
  const ids = rows.map(({ id }) => id);
  await cancelFlowMessages(trx, ids, 'the flow was archived, or resumed without what was overdue');
  return { last: ids.length < limit ? null : (ids.at(-1) ?? null), backlogs: [] };
}
