/**
 * Changes the queued messages of a flow when it is paused, resumed or archived. The loop that changes runs applies
 * these changes, too, in pages by message id.
 */
import type pg from 'pg';
import type { Logger } from 'pino';
import { backlogName, type NamedBacklog } from '../../../delivery/terms/backlog.ts';
import { cancelFlowMessages } from '../../../delivery/ledger/cancel/cancel.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { Waker } from '../../../platform/db/wake.ts';
import { makePage } from './pages.ts';

/** Number of messages per page. */
const PAGE = 500;

export type MessagesChange = 'hold' | 'release' | 'cancel';

interface ChangeRow {
  id: number;
  flow_id: number;
  change: MessagesChange;
  cursor: number;
  up_to: number;
  /** For a release: the duration of the pause. */
  paused_seconds: number;
  failures: number;
}

export interface MessageChangesDeps {
  pool: pg.Pool;
  waker: Pick<Waker, 'wake'>;
  log: Logger;
  /** Number of messages per page; for tests. */
  pageMessages?: number;
}

/**
 * Takes the next change. Their order does not matter: a sender that takes a due message of a paused flow puts it on
 * hold anyway.
 */
async function takeChange(trx: Queryable, asOf: Date): Promise<ChangeRow | undefined> {
  const { rows } = await trx.query<ChangeRow>({
    name: 'take_change_of_flow_messages',
    text: `select id, flow_id, change, cursor, up_to, paused_seconds, failures from flow_message_changes
           where due_at <= $1 order by due_at, id limit 1 for update skip locked`,
    values: [asOf],
  });
  return rows[0];
}

/** Finds the next messages of the change, by id. */
async function nextMessages(
  trx: Queryable,
  { flow_id, cursor, up_to }: ChangeRow,
  limit: number,
): Promise<number[]> {
  const { rows } = await trx.query<{ id: number }>({
    name: 'waiting_messages_of_flow',
    text: `select message_id as id from send_queue where flow_id = $1 and message_id > $2 and message_id <= $3
           order by message_id limit $4`,
    values: [flow_id, cursor, up_to, limit],
  });
  return rows.map(({ id }) => id);
}

/**
 * SQL: makes messages of a paused flow wait for its resume, so that they take no places of senders. Others wait once
 * their intent sees the pause: messages with reservations, retries (which keep their time), and messages held by a
 * limit. A resume waits for the lock of the flow.
 */
const HOLD = `
  with paused as materialized (
    select id from flows where id = $1 and status = 'paused' for share
  ), page as materialized (
    select message_id from send_queue
    where message_id = any($2) and owner is null and not held and attempt_count = 0 and reserved_bucket is null
      and price_month is null and (select id from paused) is not null
    order by message_id for update skip locked
  )
  update send_queue set due_at = 'infinity' where message_id = any(array(select message_id from page))`;

/**
 * SQL: releases messages that wait for the resume, even if a sender is just returning them to the queue. The pause does
 * not count towards their lifetime.
 */
const RELEASE = `
  with page as materialized (
    select message_id from send_queue where message_id = any($1) order by message_id for update
  )
  update send_queue q set queued_at = q.queued_at + make_interval(secs => $2),
    due_at = case when q.due_at = 'infinity' then now() else q.due_at end
  where q.message_id = any(array(select message_id from page))
  returning q.channel, q.class, q.account_id as "accountId", q.provider_id as "providerId"`;

/** Changes messages. @returns the backlogs to wake `send` with after the commit */
async function changeMessages(
  trx: Queryable,
  { flow_id: flowId, change, paused_seconds: pausedSeconds }: ChangeRow,
  ids: readonly number[],
): Promise<string[]> {
  switch (change) {
    case 'hold':
      await trx.query({ name: 'hold_messages_of_flow', text: HOLD, values: [flowId, ids] });
      return [];
    case 'release': {
      const release = { name: 'release_waiting_messages', text: RELEASE, values: [ids, pausedSeconds] };
      const { rows } = await trx.query<NamedBacklog>(release);
      return [...new Set(rows.map(backlogName))];
    }
    case 'cancel':
      // Messages under an intent may already be on their way; if not, senders cancel them.
      await cancelFlowMessages(trx, ids, 'the flow was archived, or resumed without its overdue messages');
      return [];
  }
}

/** Applies one page of a change of messages. @returns whether there was something to do */
export async function changeMessagesPage(deps: MessageChangesDeps, asOf: Date): Promise<boolean> {
  const { waker, pageMessages: limit = PAGE } = deps;
  let backlogs: string[] = [];
  const make = async (trx: Queryable, change: ChangeRow) => {
    const ids = await nextMessages(trx, change, limit);
    if (ids.length > 0) backlogs = await changeMessages(trx, change, ids);
    return ids.length < limit ? null : (ids.at(-1) ?? null);
  };
  const made = await makePage(deps, { table: 'flow_message_changes', take: takeChange, make }, asOf);
  if (backlogs.length > 0) waker.wake('send', backlogs);
  if (made) waker.wake('outbox');
  return made;
}
