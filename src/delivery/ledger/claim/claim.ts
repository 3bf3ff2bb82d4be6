import type pg from 'pg';
import { onClient, type Queryable } from '../../../platform/db/queryable.ts';
import { defineFunction } from '../../../platform/db/sql/define.ts';
import type { Regions } from '../../../platform/db/sql/regions.ts';
import { limits, type Limits, limitsOf, type LimitSettings } from '../limits/authority.ts';
import { settingIn } from '../../terms/sql-parts.ts';
import { messageClasses } from '../../terms/message.ts';
import { decisionRegions } from '../limits/claim-decision.ts';
import { DEFAULT_PROVIDER, type NamedBacklog } from '../../terms/backlog.ts';
import { isLetterQueueSql } from '../../terms/channels/queue-channel.ts';
import type { Claim, ClaimId } from '../ownership/claims.ts';

/** Which messages to claim, and for which process. */
export interface ClaimRequest extends Omit<NamedBacklog, 'providerId'> {
  /** By default the provider in the settings. */
  providerId?: number;
  /** Id of the process, in `processes`. */
  owner: number;
  /** Maximum number of messages to decide on. */
  quantum: number;
}

/** What a claim returns: a row for each claimed message, or, if there is none, one row without a message. */
interface ClaimedRow {
  looked_at: number;
  message_id: number | null;
  claim_epoch: number;
  content_bytes: number;
  content_weight: number;
  connection_losses: number;
  /** Null unless the message is of a letter. */
  file_bytes: number | null;
}

/** The result of a claim in one backlog. */
export interface BacklogClaim {
  /**
   * Number of due messages, at most the quantum, that were claimed, held, or left alone because another transaction
   * changes them.
   */
  lookedAt: number;
  claims: Claim[];
}

/**
 * What the function derives from a table of limits, for messages that reserve their price in the claim, and for those
 * that have reserved it.
 */
const claimRegions: Regions<Limits> = Object.fromEntries(
  Object.entries(decisionRegions('(select id from account)', settingIn('limit_settings'))).flatMap(
    ([name, sql]) => [
      [name, sql],
      [`${name}_if_reserved`, (table: Limits) => sql(limitsOf(messageClasses.transactional, table))],
    ],
  ),
);

export const claimFunction = defineFunction<Limits>(import.meta.url, './claim_backlog.sql', {
  table: limits,
  regions: { ...claimRegions, has_letters: () => isLetterQueueSql('of_channel') },
});

/**
 * SQL: what precedes the claims. The months of accounts whose messages may reserve money are locked before anything
 * else.
 */
function beginSql(requests: readonly ClaimRequest[]): string {
  const reserving = requests.filter((request) => request.class !== messageClasses.transactional);
  const ids = [...new Set(reserving.map(({ accountId }) => accountId))];
  return ids.length === 0
    ? 'set local synchronous_commit = off'
    : `select set_config('synchronous_commit', 'off', true), lock_months('{${ids.join(',')}}')`;
}

/** SQL: a claim, which locks the account and reads its quotas under the lock. */
function claimText(client: pg.PoolClient, request: ClaimRequest, settings: LimitSettings): string {
  const { channel, queue = channel, class: priority, accountId, owner, quantum } = request;
  const { providerId = DEFAULT_PROVIDER } = request;
  const fields = { channel: queue, class: priority, accountId, providerId, owner, quantum };
  const parameters = JSON.stringify({ ...fields, settings });
  return `select * from ${claimFunction.name}(${client.escapeLiteral(parameters)})`;
}

function backlogClaim(
  { accountId, class: priority }: ClaimRequest,
  rows: readonly ClaimedRow[],
): BacklogClaim {
  const claims = rows.flatMap((row) =>
    row.message_id === null
      ? []
      : {
          messageId: row.message_id,
          epoch: row.claim_epoch,
          accountId,
          class: priority,
          bytes: row.content_bytes,
          weight: row.content_weight,
          losses: row.connection_losses,
          ...(row.file_bytes === null ? {} : { letter: { fileBytes: row.file_bytes } }),
        },
  );
  return { lookedAt: rows[0]?.looked_at ?? 0, claims };
}

/**
 * Claims messages of some backlogs for a process, in one transaction. A claim promises nothing and can be given back.
 * Its commit does not wait for the disk, so the database may forget it in a crash. The commit of the intent that covers
 * it writes both to disk.
 * @returns what was claimed from each backlog, in the order of `requests`. The other messages become `held` in the same
 *   transaction, except those that another transaction is changing: they are checked again seconds later
 */
export function claimBacklogs(
  pool: pg.Pool,
  requests: readonly ClaimRequest[],
  settings: LimitSettings,
): Promise<BacklogClaim[]> {
  // All claims lock accounts in this order, to avoid deadlocks.
  const ordered = requests.toSorted(
    (one, other) =>
      one.accountId - other.accountId ||
      one.class - other.class ||
      (one.providerId ?? DEFAULT_PROVIDER) - (other.providerId ?? DEFAULT_PROVIDER),
  );
  return onClient(pool, async (client) => {
    // Statements in one string are one transaction. Such a string cannot have parameters.
    const texts = ordered.map((request) => claimText(client, request, settings));
    const results = (await client.query([beginSql(ordered), ...texts].join(';'))) as unknown as {
      rows: ClaimedRow[];
    }[];
    const claims = new Map(
      // The first result is that of `beginSql`.
      ordered.map((request, n) => [request, backlogClaim(request, results[n + 1]?.rows ?? [])]),
    );
    return requests.map((request) => claims.get(request) ?? { lookedAt: 0, claims: [] });
  });
}

/** Claims messages of one backlog, as {@link claimBacklogs} does. */
export async function claimBacklog(
  pool: pg.Pool,
  request: ClaimRequest,
  settings: LimitSettings,
): Promise<Claim[]> {
  const [claimed] = await claimBacklogs(pool, [request], settings);
  return claimed?.claims ?? [];
}

/**
 * Gives claims back and leaves their messages as they were. Messages that another process has claimed since are not
 * changed.
 */
export async function releaseClaims(
  client: Queryable,
  owner: number,
  claims: readonly ClaimId[],
): Promise<void> {
  if (claims.length === 0) return;
  // All statements lock queue rows in this order, to avoid deadlocks.
  const sorted = claims.toSorted((one, other) => one.messageId - other.messageId);
  await client.query(
    `with mine as (
       select s.message_id from unnest($2::bigint[], $3::int[]) as c (message_id, epoch)
       cross join lateral (
         select message_id from send_queue q
         -- "is not distinct" keeps the planner from the index of owners, where it would read all rows of the owner.
         where q.message_id = c.message_id and q.claim_epoch = c.epoch and q.owner is not distinct from $1
         for update) s
     )
     update send_queue q set owner = null where q.message_id = any(array(select message_id from mine))`,
    [owner, sorted.map((claim) => claim.messageId), sorted.map((claim) => claim.epoch)],
  );
}
