import type { Queryable } from '../../../platform/db/queryable.ts';
import { defineSql } from '../../../platform/db/sql/define.ts';
import { markForRecountSql } from '../blocks/campaign-blocks.ts';
import { leaveQueueSql } from '../effects/leave-queue.ts';
import { countFlowMessagesSql } from '../effects/flow-counts.ts';
import { isIntendedSql } from '../ownership/open-intents.ts';
import { limits } from '../limits/authority.ts';
import type { SkipCode } from '../../terms/message.ts';
import { countUsageSql } from '../money/usage.ts';

export const cancelMessagesBecause = defineSql(import.meta.url, './cancel_messages_because.sql', {
  table: limits,
  regions: {
    flow_counts: () => countFlowMessagesSql('canceled'),
    usage: () => countUsageSql('canceled', 'false'),
    leave_queue: (table) =>
      leaveQueueSql(
        'array(select message_id from free)',
        'array(select message_id from free where not uncertain)',
        table,
        { unknown: 'array(select message_id from free where uncertain)' },
      ),
    marked_blocks: () =>
      markForRecountSql('select campaign_id, id from canceled where campaign_id is not null'),
  },
});

async function cancelBecause(
  db: Queryable,
  ids: readonly number[],
  { reason, isDeletion }: { reason: string; isDeletion: boolean },
): Promise<number[]> {
  if (ids.length === 0) return [];
  const { rows } = await db.query<{ id: number }>({
    ...cancelMessagesBecause,
    values: [ids, Math.min(...ids), Math.max(...ids), reason, isDeletion],
  });
  return rows.map(({ id }) => id);
}

/**
 * Cancels queued messages whose contact was deleted, and returns their reservations. Messages of flows become
 * `skipped`. A message of a campaign or flow that has an attempt without a known outcome leaves the queue and becomes
 * `unknown`.
 *
 * Messages that an intent covers may be on their way and are left alone. An intent that is written at the same time may
 * still send a canceled message: after the commit, wait for the recipient fence before you report that they are
 * canceled.
 * @param ids messages in any state
 * @param reason shown as `failure.message`
 * @returns the ids of those that are canceled or skipped
 */
export const cancelMessages = (db: Queryable, ids: readonly number[], reason: string): Promise<number[]> =>
  cancelBecause(db, ids, { reason, isDeletion: true });

/**
 * Cancels messages of flows, as {@link cancelMessages} does, because their runs have ended. No intent sends them any
 * more, because intents check the flow.
 */
export const cancelFlowMessages = (
  db: Queryable,
  ids: readonly number[],
  reason: string,
): Promise<number[]> => cancelBecause(db, ids, { reason, isDeletion: false });

export const skipRecipientsSql = defineSql(import.meta.url, './skip_recipients.sql', {
  table: limits,
  regions: {
    intended: () => isIntendedSql,
    leave_queue: (table) =>
      leaveQueueSql(
        'array(select id from locked)',
        'array(select id from locked where not uncertain)',
        table,
        { unknown: 'array(select id from locked where uncertain)' },
      ),
    marked_blocks: () => markForRecountSql('select campaign_id, id from updated'),
  },
});

/**
 * Skips recipients of campaigns who wait for their first attempt or for a retry. Recipients that an intent covers are
 * left alone; those with an attempt without a known outcome become `unknown`.
 * @param trx holds the locks of their campaigns, see `lockCampaignForChange`
 * @returns the ids of those that are skipped
 */
export async function skipRecipients(
  trx: Queryable,
  ids: readonly number[],
  failure: { code: SkipCode; message: string },
): Promise<number[]> {
  if (ids.length === 0) return [];
  const { rows } = await trx.query<{ id: number }>({
    ...skipRecipientsSql,
    values: [ids, Math.min(...ids), Math.max(...ids), failure.code, failure.message],
  });
  return rows.map(({ id }) => id);
}
