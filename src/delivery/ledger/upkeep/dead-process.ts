import type { Queryable } from '../../../platform/db/queryable.ts';
import { defineSql } from '../../../platform/db/sql/define.ts';
import { blocksOfSql, changedBlocksSql, unknownOfBlocksSql } from '../blocks/campaign-blocks.ts';
import { unknownChargesSql } from '../effects/leave-queue.ts';
import { countFlowMessagesSql, messageBeforeSql } from '../effects/flow-counts.ts';
import { captureCtes, limits } from '../limits/authority.ts';
import { furtherCtes } from '../../terms/sql-parts.ts';
import { segmentsNowSql } from '../effects/rendered-segments.ts';
import { paidBySegmentSql } from '../../terms/units.ts';
import { countUsageSql } from '../money/usage.ts';

/**
 * SQL over the block `b`: a sum over those of its messages that are charged now.
 * @param sum SQL over the messages `k`
 */
const takenOfBlock = (sum: string): string =>
  `(select ${sum} from charged k where k.campaign_id = b.campaign_id and k.block_n = b.n)`;

export const endIntents = defineSql(import.meta.url, './end_intents.sql', {
  table: limits,
  regions: {
    segments: () => segmentsNowSql('true'),
    message_before: () => messageBeforeSql('i.message_id'),
    flow_counts: () => countFlowMessagesSql('marked'),
    usage: () => countUsageSql('marked', 'false'),
    unknown_charges: () => unknownChargesSql('array(select message_id from removed)'),
    captured: (table) => furtherCtes(captureCtes('removed', table)),
    changed_blocks: () =>
      changedBlocksSql(
        `select campaign_id, block_n from charged
         union all ${blocksOfSql('select campaign_id, id from marked where campaign_id is not null and block_n is null')}`,
        {
          places: takenOfBlock('count(*)::int'),
          attempted: takenOfBlock('count(*)::int'),
          emails: takenOfBlock('count(*)::int'),
          texts: takenOfBlock(`coalesce(jsonb_object_agg(k.id, null::int), '{}')`),
        },
      ),
    unknown_of_blocks: () =>
      unknownOfBlocksSql(`
       select campaign_id, block_n as n, id from marked where block_n is not null
       union all select campaign_id, block_n, id from reported where ${paidBySegmentSql('channel')}`),
  },
});

/**
 * Recovers the messages of a dead sender, inside the reaper's transaction. Messages that it had only claimed go back to
 * the queue unchanged. Messages of its intents may have been sent: they become `unknown`. Of these, transactional ones
 * are handed over again, with the same bytes, because a duplicate is better than a lost password reset. So are messages of
 * flows whose clients prefer a duplicate, but not those of other flows and of campaigns. If the provider sends reports,
 * the messages that are handed over again first wait for one. The intent's provider is recorded, because only reports of
 * a message's providers are believed. If a report came first, the message stays as it is, and only its block is charged.
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
  await client.query({ ...endIntents, values: [processId] });
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
