import type { Queryable } from '../../../platform/db/queryable.ts';
import { blocksOfSql, changedBlocksSql, unknownOfBlocksSql } from '../blocks/campaign-blocks.ts';
import { unknownChargesSql } from '../effects/leave-queue.ts';
import { countFlowMessagesSql, messageBeforeSql } from '../effects/flow-counts.ts';
import { captureCtes } from '../limits/authority.ts';
import { furtherCtes } from '../../terms/sql-parts.ts';
import { messageClasses, openStatuses, statusList } from '../../terms/message.ts';
import { segmentsNowSql } from '../effects/rendered-segments.ts';
import { paidBySegmentSql } from '../../terms/units.ts';
import { countUsageSql } from '../money/usage.ts';

const { transactional } = messageClasses;

/**
 * SQL over the block `b`: a sum over those of its messages that are charged now.
 * @param sum SQL over the messages `k`
 */
const takenOfBlock = (sum: string): string =>
  `(select ${sum} from charged k where k.campaign_id = b.campaign_id and k.block_n = b.n)`;

/** SQL: ends the intents of the process $1. Their messages become `unknown`. */
const endIntentsSql = `with ended_intents as (
       delete from handovers where owner = $1
       returning provider, message_ids, attempts, report_seconds, campaign_id, block_n, block_epoch
     ), intents as (
       select i.message_id, i.attempt, e.provider, e.report_seconds, e.campaign_id, e.block_n, e.block_epoch
       from ended_intents e cross join unnest(e.message_ids, e.attempts) as i (message_id, attempt)
     ), queued as (
       select message_id from send_queue
       where owner = $1 and message_id = any(array(select message_id from intents where block_n is null))
       order by message_id for update
     ), owned as (
       select message_id from queued
       union all
       select i.message_id from intents i join campaign_blocks b
         on b.campaign_id = i.campaign_id and b.n = i.block_n and b.claim_epoch = i.block_epoch and b.owner = $1
     ), marked as (
       update messages m set status = 'unknown', hold = null, updated_at = now(),
         attempt_count = greatest(m.attempt_count, i.attempt), provider = coalesce(i.provider, m.provider),
         unknown_at = coalesce(m.unknown_at, now()), segments = ${segmentsNowSql('true')}
       from intents i join owned using (message_id) ${messageBeforeSql('i.message_id')}
       where m.id = i.message_id and m.status in (${statusList(openStatuses)})
       returning m.*, i.attempt, i.report_seconds, i.block_n, was.*
     ), reported as materialized (
       -- Their outcomes would have taken their charges from the block.
       select m.id, m.channel, i.campaign_id, i.block_n from intents i join owned using (message_id) join messages m on m.id = i.message_id
       where i.block_n is not null and m.sent_at is not null and m.unsent_at is null
         and m.status not in (${statusList(openStatuses)})
     ), charged as (
       select id, campaign_id, block_n from marked where block_n is not null union all select id, campaign_id, block_n from reported
     )${countFlowMessagesSql('marked')}${countUsageSql('marked', 'false')}, events as (
       insert into message_events (message_id, attempt, type, data)
       select id, attempt, 'unknown', jsonb_build_object(
         'provider', provider, 'reason', 'the sender died before the outcome was known') from marked
       on conflict do nothing
     ), removed as (
       delete from send_queue
       where owner = $1 and message_id = any(array(select id from marked where class <> ${transactional})) returning *
     )${unknownChargesSql('array(select message_id from removed)')}${furtherCtes(captureCtes('removed'))}${changedBlocksSql(
       `select campaign_id, block_n from charged
         union all ${blocksOfSql('select campaign_id, id from marked where campaign_id is not null and block_n is null')}`,
       {
         places: takenOfBlock('count(*)::int'),
         attempted: takenOfBlock('count(*)::int'),
         emails: takenOfBlock('count(*)::int'),
         texts: takenOfBlock(`coalesce(jsonb_object_agg(k.id, null::int), '{}')`),
       },
     )}${unknownOfBlocksSql(`
       select campaign_id, block_n as n, id from marked where block_n is not null
       union all select campaign_id, block_n, id from reported where ${paidBySegmentSql('channel')}`)}
     -- Without a wait, due_at stays: messages that were stranded go before later ones.
     update send_queue q set owner = null, attempt_count = m.attempt,
       due_at = case when m.report_seconds > 0 then now() + make_interval(secs => m.report_seconds) else q.due_at end
     from marked m
     where q.message_id = m.id and q.owner = $1
       and q.message_id = any(array(select id from marked where class = ${transactional}))`;

/**
 * Recovers the messages of a dead sender, inside the reaper's transaction. Messages that it had only claimed go back to
 * the queue unchanged. Messages of its intents may have been sent: they become `unknown`. Of these, transactional ones
 * are handed over again, with the same bytes, because a duplicate is better than a lost password reset; campaign and
 * flow messages are not. If the provider sends reports, these messages first wait for one. The intent's provider is
 * recorded, because only reports of a message's providers are believed. If a report came first, the message stays as it
 * is, and only its block is charged.
 *
 * Only messages whose queue rows or blocks the process still owns are changed. The other messages of its intents were
 * given back before their hand-over, because the reply to the intent's commit was lost; another sender may be sending
 * them now.
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
  await client.query(endIntentsSql, [processId]);
  await client.query(
    `with claims as (
       select message_id from send_queue where owner = $1 order by message_id for update
     )
     update send_queue set owner = null where message_id = any(array(select message_id from claims))`,
    [processId],
  );
  await freeBlocks(client, processId);
}

/**
 * Frees blocks, so that what is left of them can be claimed again. New epochs fence the former owner, which may be
 * alive.
 */
async function freeBlocks(client: Queryable, processId: number): Promise<void> {
  await client.query(
    `with blocks as (
       select campaign_id, n from campaign_blocks where owner = $1 order by campaign_id, n for update
     )
     update campaign_blocks b set owner = null, claim_epoch = b.claim_epoch + 1
     from blocks where b.campaign_id = blocks.campaign_id and b.n = blocks.n`,
    [processId],
  );
}
