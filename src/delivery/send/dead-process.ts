import type { Queryable } from '../../platform/db/queryable.ts';
import { captureCtes, furtherCtes } from '../limits/authority.ts';
import { messageClasses, openStatuses, statusList } from '../message.ts';

const { transactional } = messageClasses;

/**
 * Recovers the messages of a dead sender, inside the reaper's transaction. Messages that it had only claimed go back to
 * the queue unchanged. Messages of its intents may have been sent: they become `unknown`. Of these, transactional ones
 * are handed over again, with the same bytes, because a duplicate is better than a lost password reset; campaign and
 * flow messages are not. If the provider sends reports, they wait for one first. The intent's provider is recorded,
 * because only reports of a message's providers are believed.
 *
 * Only messages whose queue rows the process still owns are changed. The others of its intents were given back before
 * they were handed over, because the reply to the intent's commit was lost; another sender may be sending them now.
 *
 * The process may still be alive and recording outcomes. So messages are locked before intents, in the order in which
 * recording locks them; an intent whose outcomes were recorded in the meantime is gone when the next statement runs.
 */
export async function recoverDeadSender(client: Queryable, processId: number): Promise<void> {
  await client.query(
    `select 1 from messages
     where id in (select unnest(message_ids) from handovers where owner = $1) order by id for no key update`,
    [processId],
  );
  await client.query(
    `with ended_intents as (
       delete from handovers where owner = $1 returning provider, message_ids, attempts, report_seconds
     ), intents as (
       select i.message_id, i.attempt, e.provider, e.report_seconds from ended_intents e
       cross join unnest(e.message_ids, e.attempts) as i (message_id, attempt)
     ), owned as (
       select message_id from send_queue
       where owner = $1 and message_id = any(array(select message_id from intents))
       order by message_id for update
     ), marked as (
       update messages m set status = 'unknown', hold = null, updated_at = now(),
         attempt_count = greatest(m.attempt_count, i.attempt), provider = coalesce(i.provider, m.provider)
       from intents i join owned using (message_id)
       where m.id = i.message_id and m.status in (${statusList(openStatuses)})
       returning m.id, m.class, m.provider, i.attempt, i.report_seconds
     ), events as (
       insert into message_events (message_id, attempt, type, data)
       select id, attempt, 'unknown', jsonb_build_object(
         'provider', provider, 'reason', 'the sender died before the outcome was known') from marked
       on conflict do nothing
     ), removed as (
       delete from send_queue
       where owner = $1 and message_id = any(array(select id from marked where class <> ${transactional})) returning *
     )${furtherCtes(captureCtes('removed'))}
     -- Without a wait, due_at stays: messages that were stranded go before later ones.
     update send_queue q set owner = null, attempt_count = m.attempt,
       due_at = case when m.report_seconds > 0 then now() + make_interval(secs => m.report_seconds) else q.due_at end
     from marked m
     where q.message_id = m.id and q.owner = $1
       and q.message_id = any(array(select id from marked where class = ${transactional}))`,
    [processId],
  );
  await client.query(
    `with claims as (
       select message_id from send_queue where owner = $1 order by message_id for update
     )
     update send_queue set owner = null where message_id = any(array(select message_id from claims))`,
    [processId],
  );
}
