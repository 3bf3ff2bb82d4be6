import type { Queryable } from '../../../platform/db/queryable.ts';
import { defineFunction, defineSql } from '../../../platform/db/sql/define.ts';
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

/** What {@link cancelTransactional} did with a message, or why it changed nothing. */
export type CancelOutcome =
  | 'canceled'
  /** It had ended without being sent, which is no obstacle. */
  | 'ended'
  | 'sending'
  /** An attempt has no known outcome. */
  | 'unknown'
  | 'left'
  /** A campaign or flow wrote it. */
  | 'other_class'
  /** A sender has claimed it: see {@link markForRecall}. */
  | 'claimed'
  /** A sender of an earlier version has claimed it, whose claims cannot be recalled. */
  | 'unchecked';

export const cancelTransactionalFunction = defineFunction(import.meta.url, './cancel_transactional.sql', {
  table: limits,
  regions: { leave_queue: (table) => leaveQueueSql('canceled_ids', 'canceled_ids', table) },
});

/**
 * Marks the account for a minute, so that intents look at their claims once more under their locks. Commit this before
 * the transaction that recalls claims.
 */
export async function markForRecall(db: Queryable, accountId: number): Promise<void> {
  await db.query(
    `update accounts set recipients_changed_at = clock_timestamp() + interval '1 minute'
     where id = $1 and coalesce(recipients_changed_at, '-infinity') < clock_timestamp() + interval '45 seconds'`,
    [accountId],
  );
}

/**
 * Cancels transactional messages that wait, all or none, and returns their reservations. Once the transaction is
 * committed, they never leave; until then, no other transaction claims or records them.
 * @param trx inside a transaction, which should commit at once: with `recall`, intents of the account wait for it
 * @param ids of one account and one range of ids
 * @param reason shown as `failure.message`
 * @param recall whether to take messages from senders that have claimed them, after {@link markForRecall}
 * @returns the outcome of each message that exists. Something was changed only if all are `canceled` or `ended`.
 */
export async function cancelTransactional(
  trx: Queryable,
  accountId: number,
  ids: readonly number[],
  { reason, recall }: { reason: string; recall: boolean },
): Promise<Map<number, CancelOutcome>> {
  const { rows } = await trx.query<{ id: number; outcome: CancelOutcome }>(
    `select * from ${cancelTransactionalFunction.name}($1, $2, $3, $4)`,
    [accountId, ids, reason, recall],
  );
  return new Map(rows.map(({ id, outcome }) => [id, outcome]));
}
