import type pg from 'pg';
import { inTransaction, type Queryable } from '../../../platform/db/queryable.ts';
import { defineFunction, defineSql } from '../../../platform/db/sql/define.ts';
import type { Regions } from '../../../platform/db/sql/regions.ts';
import type { Backlog } from '../../terms/backlog.ts';
import { channelOfQueue, queueChannels } from '../../terms/channels/queue-channel.ts';
import { messageClasses } from '../../terms/message.ts';
import { wakeCampaignsSql } from '../blocks/wake-campaigns.ts';
import { type Limits, limitsOf, type LimitSettings } from '../limits/authority.ts';
import { furtherCtes, settingIn } from '../../terms/sql-parts.ts';
import { figuresCtes, roomSql } from '../limits/claim-decision.ts';

/** Maximum number of messages that one transaction releases. */
const PAGE = 2_000;
/** When to check again the messages that a release left held: they were locked, or a limit had no room for them. */
const RECHECK = `interval '10 seconds'`;

/** SQL: locks the held blocks of an account in the order that all statements keep. */
const heldBlocksSql = (accountId: string): string => `
    select campaign_id, n from campaign_blocks
    where account_id = ${accountId} and hold_reason is not null and owner is null and closed_at is null
    order by campaign_id, n for update`;

/** SQL: locks the held backlogs of an account in the order that all statements keep. */
const heldBacklogsSql = (accountId: string): string => `
  select channel, class, provider_id from held_backlogs where account_id = ${accountId}
  order by channel, class, provider_id for update`;

export const releaseHeldFunction = defineFunction(import.meta.url, './release_held.sql', {
  table: undefined,
  regions: {
    held_blocks: () => heldBlocksSql('account'),
    held_backlogs: () => heldBacklogsSql('account'),
    woken_campaigns: () => wakeCampaignsSql('unnest(campaigns) as b (campaign_id)'),
  },
});

export const endReleaseFunction = defineFunction(import.meta.url, './end_release.sql', {
  table: undefined,
  regions: { held_backlogs: () => heldBacklogsSql('account') },
});

/**
 * Makes senders check the held messages of an account now, because a limit has ended. They release the messages in
 * pages, as far as the limits allow.
 * @param locked whether to wait for locked blocks or skip them: a transaction that has locked the wallet must not wait
 *   for them
 */
export async function releaseHeld(
  db: Queryable,
  accountId: number,
  locked: 'wait' | 'skip' = 'wait',
): Promise<void> {
  await db.query(`select ${releaseHeldFunction.name}($1, $2)`, [accountId, locked === 'skip']);
}

/**
 * Locks the held blocks of an account. Call it in a transaction that then locks the wallet and releases held messages.
 * Otherwise there may be a deadlock: a claim that waits for the wallet has locked the month, and a recorder that has
 * locked a block may wait for the month.
 */
export async function lockHeldBlocks(trx: Queryable, accountId: number): Promise<void> {
  await trx.query({ name: 'lock_held_blocks', text: heldBlocksSql('$1'), values: [accountId] });
}

interface HeldBacklog extends Backlog {
  /** How many more messages may be released; null or 0: not decided yet. */
  releaseCount: number | null;
  /** The `due_at` of the last message released, as text. */
  releasedUntil: string | null;
}

/** Takes the held backlog whose check has been due longest; other senders skip it, and all skip queues of other versions. */
async function takeBacklog(trx: Queryable): Promise<HeldBacklog | undefined> {
  const { rows } = await trx.query<Omit<HeldBacklog, 'channel'>>({
    name: 'take_held_backlog_2',
    text: `
    select channel as queue, class, account_id as "accountId", provider_id as "providerId", release_count as "releaseCount",
      released_until::text as "releasedUntil"
    from held_backlogs where recheck_at <= now() and channel = any($1)
    order by recheck_at limit 1 for update skip locked`,
    values: [queueChannels],
  });
  const [row] = rows;
  const channel = row && channelOfQueue(row.queue);
  return channel ? { ...row, channel } : undefined;
}

const keyOf = ({ accountId, queue, class: priority, providerId }: Backlog) => [
  accountId,
  queue,
  priority,
  providerId,
];
const THIS_BACKLOG = 'account_id = $1 and channel = $2 and class = $3 and provider_id = $4';

const decideRegions: Regions<Limits> = {
  figures: (table) => furtherCtes(figuresCtes(settingIn('$5::jsonb'), table)),
  room: (table) => roomSql('$2', table),
};

export const decideReservedBacklog = defineSql(import.meta.url, './decide_reserved_backlog.sql', {
  table: limitsOf(messageClasses.transactional),
  regions: decideRegions,
});

export const decideHeldBacklog = defineSql(import.meta.url, './decide_held_backlog.sql', {
  table: limitsOf(messageClasses.flow),
  regions: decideRegions,
});

/** Decides how many messages the limits let go, not counting those that are due already. */
async function decide(trx: Queryable, backlog: HeldBacklog, settings: LimitSettings): Promise<number> {
  const { rows } = await trx.query<{ count: number | null }>({
    ...(backlog.class === messageClasses.transactional ? decideReservedBacklog : decideHeldBacklog),
    values: [...keyOf(backlog), JSON.stringify(settings)],
  });
  return rows[0]?.count ?? 0;
}

export const releaseHeldMessages = defineSql(import.meta.url, './release_held_messages.sql');

/** Makes a page of held messages due. The other backlogs that are being released take their turns before the next. */
async function releasePage(trx: Queryable, backlog: HeldBacklog, count: number): Promise<number> {
  const { rows } = await trx.query<{ found: number; released: number }>({
    ...releaseHeldMessages,
    values: [...keyOf(backlog), backlog.releasedUntil, Math.min(PAGE, count)],
  });
  const { found, released } = rows[0] ?? { found: 0, released: 0 };
  if (found < PAGE) await endRelease(trx, backlog);
  return released;
}

/** Ends a release that found no more messages or used up its count. The row stays while messages are held. */
async function endRelease(trx: Queryable, backlog: HeldBacklog): Promise<void> {
  const { rowCount } = await trx.query({
    name: 'end_release',
    text: `
    update held_backlogs set recheck_at = now() + ${RECHECK}, release_count = null, released_until = null
    where ${THIS_BACKLOG} and exists (
      select 1 from send_queue where owner is null and ${THIS_BACKLOG} and due_at > now() and held)`,
    values: keyOf(backlog),
  });
  if (rowCount === 0) await trx.query(`delete from held_backlogs where ${THIS_BACKLOG}`, keyOf(backlog));
}

/** The result of checking one held backlog. */
export interface Release {
  backlog: Backlog;
  /** Number of messages that are due now. */
  released: number;
}

/**
 * Checks one held backlog whose `recheck_at` has passed, and releases up to 2,000 of its messages if the limits let
 * them go. If the sender dies, any other sender continues after the last committed page.
 * @returns null if no backlog has to be checked
 */
export function releaseHeldPage(pool: pg.Pool, settings: LimitSettings): Promise<Release | null> {
  return inTransaction(pool, async (trx) => {
    const backlog = await takeBacklog(trx);
    if (!backlog) return null;
    const count = backlog.releaseCount || (await decide(trx, backlog, settings));
    const released = count > 0 ? await releasePage(trx, backlog, count) : 0;
    const { channel, queue, class: priority, accountId, providerId } = backlog;
    return { backlog: { channel, queue, class: priority, accountId, providerId }, released };
  });
}
