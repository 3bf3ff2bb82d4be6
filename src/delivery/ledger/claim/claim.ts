import { createHash } from 'node:crypto';
import type pg from 'pg';
import { onClient, type Queryable } from '../../../platform/db/queryable.ts';
import { defineStatement } from '../../../platform/db/statements.ts';
import { limits, type Limits, limitsOf, type LimitSettings } from '../limits/authority.ts';
import { furtherCtes, settingIn } from '../../terms/sql-parts.ts';
import { messageClasses } from '../../terms/message.ts';
import {
  decidedSql,
  figuresCtes,
  heldSql,
  queueColumnsSql,
  reservationsSql,
  takeCtes,
} from '../limits/claim-decision.ts';
import { type Backlog, DEFAULT_PROVIDER } from '../../terms/backlog.ts';
import { ACCOUNT_LOCK, type Claim, type ClaimId } from '../ownership/claims.ts';

/** Which messages to claim, and for which process. */
export interface ClaimRequest extends Omit<Backlog, 'providerId'> {
  /** By default the provider in the settings. */
  providerId?: number;
  /** Id of the process, in `processes`. */
  owner: number;
  /** Maximum number of messages to decide on. */
  quantum: number;
}

/** When to check a message again that should be held but is locked by another transaction. */
const BUSY_RECHECK = `interval '5 seconds'`;

/** When to check whether a limit still holds a backlog: it may have ended while the claim ran. */
const HOLD_RECHECK = `interval '30 seconds'`;

/** SQL: a field of the prepared statement's parameter, a {@link ClaimRequest} with the settings of the limits. */
const requested = (field: keyof ClaimRequest, type: string) => `($1 ->> '${field}')::${type}`;

/**
 * SQL: decides on the first due rows of a backlog and claims those that no limit holds. The others become `held`, each
 * until its limit ends, or, if the limit holds the whole account, until the backlog is released. A quota counts a
 * message once, even if it is claimed several times.
 *
 * Rows are updated by their keys, never in a join: as long as the statistics of the table say that it is empty, a join
 * scans the whole table for each row. Therefore the new values of a held row are looked up in `holds`, a map by message
 * id.
 */
export function claimSql(table: Limits = limits, name = 'claim_backlog'): string {
  return `
  prepare ${name} (jsonb) as
  with alive as materialized (
    select id from processes where id = ${requested('owner', 'bigint')} for key share
  ), account as materialized (
    select * from accounts where id = ${requested('accountId', 'bigint')}
  )${furtherCtes(figuresCtes(settingIn(`($1 -> 'settings')`), table))}, picked as (
    select ${queueColumnsSql(table)} from send_queue
    where owner is null and channel = ${requested('channel', 'text')} and class = ${requested('class', 'smallint')}
      and account_id = ${requested('accountId', 'bigint')} and provider_id = ${requested('providerId', 'bigint')}
      and due_at <= now()
      -- The fence: a process that was taken for dead claims nothing, and the reaper waits for a claim that has begun.
      and (select id from alive) is not null
    order by due_at, message_id limit ${requested('quantum', 'int')}
    for update skip locked
  ), decided as materialized (
    ${decidedSql(table)}
  )${furtherCtes(takeCtes('(select id from account)', settingIn(`($1 -> 'settings')`), table))}, claimed as (
    update send_queue q set owner = (select id from alive), claim_epoch = q.claim_epoch + 1,
      held = false${reservationsSql(table)}
    where q.message_id = any(array(select message_id from decided where held_by is null))
    returning q.message_id, q.claim_epoch, q.content_bytes, q.content_weight, q.connection_losses
  ), holds as materialized (
    select jsonb_object_agg(message_id, jsonb_build_object('due', due, 'hold', hold, 'with_backlog', with_backlog))
        as by_id,
      bool_or(with_backlog) as with_backlog
    from (${heldSql(table)}) h
  ), marked as materialized (
    -- Skips messages that are locked: a recorder that has locked one wants its queue row next, which we have locked.
    select id from hold_messages((select by_id from holds)) as h (id)
  ), busy as (
    update send_queue q set due_at = now() + ${BUSY_RECHECK}
    where q.message_id = any(array(
      select message_id from decided where held_by is not null except select id from marked))
  ), held as (
    update send_queue q
    set due_at = ((select by_id from holds) -> q.message_id::text ->> 'due')::timestamptz,
      held = ((select by_id from holds) -> q.message_id::text ->> 'with_backlog')::boolean
    where q.message_id = any(array(select id from marked))
  ), held_backlog as (
    insert into held_backlogs as h (account_id, channel, class, provider_id, recheck_at)
    select id, ${requested('channel', 'text')}, ${requested('class', 'smallint')}, ${requested('providerId', 'bigint')},
      now() + ${HOLD_RECHECK}
    from account where (select with_backlog from holds)
    -- The row is locked even if it stays as it is, so that a release that finds no message does not remove it.
    on conflict (account_id, channel, class, provider_id) do update set recheck_at = excluded.recheck_at
      where h.recheck_at > excluded.recheck_at
  )
  select looked_at, message_id, claim_epoch, content_bytes, content_weight, connection_losses
  from (select count(*)::int as looked_at from decided) d left join claimed on true order by message_id`;
}

/** What a claim returns: a row for each claimed message, or, if there is none, one row without a message. */
interface ClaimedRow {
  looked_at: number;
  message_id: number | null;
  claim_epoch: number;
  content_bytes: number;
  content_weight: number;
  connection_losses: number;
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
 * Behind a pooler, another version may have prepared its own claim on the connection. So the name depends on the text
 * of the statement.
 */
const namedClaim = (priority: number) => {
  const table = limitsOf(priority);
  const hash = createHash('sha256').update(claimSql(table)).digest('hex').slice(0, 12);
  return { table, name: `claim_backlog_${hash}` };
};

const shapes = {
  claim_reserved_backlog: namedClaim(messageClasses.transactional),
  claim_backlog: namedClaim(messageClasses.flow),
};

export const claimStatement = defineStatement({
  from: import.meta.url,
  sentBy: 'claimBacklogs',
  does: 'Decides on the first due messages of a backlog, and claims those that no limit holds.',
  parameters: ['jsonb: the ClaimRequest, with the settings of the limits'],
  shapes,
  when: {
    claim_reserved_backlog: 'transactional messages, which have reserved their price',
    claim_backlog: 'all others, which reserve their price now',
  },
  compose: ({ table, name }: { table: Limits; name: string }) => claimSql(table, name),
});

/** Unlike other statements, it is prepared under the name in its text. */
const preparedFor = (shape: keyof typeof shapes) => ({
  name: shapes[shape].name,
  text: claimStatement.prepared(shape).text,
});

const RESERVED = preparedFor('claim_reserved_backlog');
const RESERVING = preparedFor('claim_backlog');

const statementOf = (priority: number) => (priority === messageClasses.transactional ? RESERVED : RESERVING);

const NOT_PREPARED = '26000';
const PREPARED_ALREADY = '42P05';
/** A pooler may run each try on a different connection. */
const MAX_TRIES = 5;

/** PostgreSQL's error code, five characters. */
const codeOf = (error: unknown) => (error as { code?: string }).code;

/**
 * Runs statements that execute the prepared claim. Planning a claim takes longer than a small claim itself, so each
 * connection plans it once. Behind a pooler, only the database knows which connections have prepared it. If the claim
 * is missing, it is prepared in the same string of statements, which runs on one connection.
 */
async function runPrepared(
  client: pg.PoolClient,
  text: string,
  prepared: readonly { name: string; text: string }[],
): Promise<{ rows: ClaimedRow[] }[]> {
  const run = async (sql: string) => (await client.query(sql)) as unknown as { rows: ClaimedRow[] }[];
  for (let tries = 1; ; tries += 1) {
    let missing: string | null;
    try {
      return await run(text);
    } catch (error) {
      missing = codeOf(error) === NOT_PREPARED ? (error as Error).message : null;
      if (missing === null || tries >= MAX_TRIES) throw error;
    }
    const { text: made } = prepared.find(({ name }) => missing.includes(name)) ?? prepared[0] ?? RESERVED;
    try {
      return (await run(`${made};${text}`)).slice(1);
    } catch (error) {
      if (codeOf(error) !== PREPARED_ALREADY && codeOf(error) !== NOT_PREPARED) throw error;
    }
  }
}

/**
 * SQL: what precedes the claims. The months of accounts whose messages may reserve money are locked before anything
 * else.
 */
function beginSql(requests: readonly ClaimRequest[]): string {
  const reserving = requests.filter((request) => statementOf(request.class) === RESERVING);
  const ids = [...new Set(reserving.map(({ accountId }) => accountId))];
  return ids.length === 0
    ? 'set local synchronous_commit = off'
    : `select set_config('synchronous_commit', 'off', true), lock_months('{${ids.join(',')}}')`;
}

/** SQL: the lock of an account, and the claim that reads its quotas under it. */
function claimText(client: pg.PoolClient, request: ClaimRequest, settings: LimitSettings): string {
  const { channel, class: priority, accountId, providerId = DEFAULT_PROVIDER, owner, quantum } = request;
  const fields = { channel, class: priority, accountId, providerId, owner, quantum };
  const parameters = JSON.stringify({ ...fields, settings });
  return `select pg_advisory_xact_lock(${ACCOUNT_LOCK}, ${accountId % 2_147_483_647});
    execute ${statementOf(priority).name}(${client.escapeLiteral(parameters)})`;
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
    // Statements in one string are one transaction, so each claim reads the quotas under the lock taken before it. Such
    // a string cannot have parameters.
    const texts = ordered.map((request) => claimText(client, request, settings));
    const prepared = [...new Set(ordered.map((request) => statementOf(request.class)))];
    const results = await runPrepared(client, [beginSql(ordered), ...texts].join(';'), prepared);
    const claims = new Map(
      // The first result is that of `beginSql`; then follow two for each request, of the lock and of the claim.
      ordered.map((request, n) => [request, backlogClaim(request, results[2 * n + 2]?.rows ?? [])]),
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
