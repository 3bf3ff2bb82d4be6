import type { Regions } from '../../../platform/db/sql/regions.ts';
import { MESSAGE_LIFETIME } from '../../terms/message.ts';
import { limits, type Limits } from './authority.ts';
import type { ClaimRule, Rules } from './limit.ts';
import { type Cte, leadingCtes, type Setting } from '../../terms/sql-parts.ts';

type HoldRule = Extract<ClaimRule, { effect: 'hold' }>;

/**
 * When a held message becomes due at the latest: just after it expires, so that the check before hand-over ends it. A
 * message that is held with its backlog has this time as `due_at`, until the release of the backlog makes it due
 * earlier.
 */
const EXPIRY = `queued_at + ${MESSAGE_LIFETIME} + interval '1 second'`;

/** Columns that the decision adds to a queue row. */
const applies = ({ name }: Rules) => `${name}_applies`;
const takesPlace = ({ name }: Rules) => `${name}_takes_place`;
const place = ({ name }: Rules) => `${name}_place`;

/**
 * Whether the limit holds all messages of an account. If so, they are held as a backlog, not each until its own time.
 */
function holdsBacklog({ claim, condition, quota }: Rules): boolean {
  if (claim?.effect !== 'hold') return false;
  return condition ? condition.reads === 'account' : quota?.per === undefined;
}

const inClaim = (table: Limits) => table.filter(({ claim }) => claim);

/** An expression for each limit with figures, named after the limit. It reads the expression `account`. */
export function figuresCtes(setting: Setting, table: Limits = limits): Cte[] {
  return inClaim(table).flatMap(({ name, figures }) =>
    figures
      ? [
          {
            name,
            materialized: true,
            sql: `select f.* from account a cross join lateral (${figures(setting)}) f`,
          },
        ]
      : [],
  );
}

/** SQL: the columns of `send_queue` that a claim reads. */
export function queueColumnsSql(table: Limits = limits): string {
  const columns = inClaim(table).flatMap(({ queueColumns }) => queueColumns ?? []);
  return [...new Set(['message_id', 'queued_at', ...columns])].join(', ');
}

/** @param decided the limits decided so far: a message to which one of them applies takes no place */
function quotaSql(limit: Rules, decided: readonly Rules[], rows: string): string {
  const takes = [`(${limit.quota?.counts})`, ...decided.map((each) => `not q.${applies(each)}`)].join(
    ' and ',
  );
  const partition = [`q.${takesPlace(limit)}`, ...(limit.quota?.per ? [limit.quota.per] : [])].join(', ');
  const { remaining = `${limit.name}.remaining`, holds = 'true', cost } = limit.quota ?? {};
  const counted = cost === undefined ? 'row_number()' : `sum(${cost})`;
  return `
    select q.*, (q.${takesPlace(limit)} and (${holds}) and q.${place(limit)} > (${remaining})) is true as ${applies(limit)}
    from (
      select q.*, ${counted} over (partition by ${partition} order by q.message_id) as ${place(limit)}
      from (select q.*, ${takes} as ${takesPlace(limit)} from (${rows}) q) q${cost === undefined ? '' : ` cross join ${limit.name}`}
    ) q cross join ${limit.name}`;
}

/**
 * SQL: the rows of the expression `picked`, with a column for each limit that is true if it applies. Conditions come
 * first: a message to which one applies takes no place in a quota.
 */
function weighedSql(table: Limits): string {
  const decided = inClaim(table).filter(({ condition }) => condition);
  const columns = decided.map((limit) => `(${limit.condition?.sql}) is true as ${applies(limit)}`);
  let sql = `select ${['q.*', ...columns].join(', ')} from picked q cross join account a`;
  for (const limit of inClaim(table).filter(({ quota }) => quota)) {
    sql = quotaSql(limit, decided, sql);
    decided.push(limit);
  }
  return sql;
}

/**
 * SQL: the queue rows of the expression `picked`, decided by the first limit of the table that applies to each.
 * `held_by` is its name, or null if the message is claimed.
 */
export function decidedSql(table: Limits = limits): string {
  const cases = inClaim(table).map(
    (limit) => `when q.${applies(limit)} then ${limit.claim?.effect === 'hold' ? `'${limit.name}'` : 'null'}`,
  );
  return `select q.*, case ${cases.join(' ')} end as held_by from (${weighedSql(table)}) q`;
}

/** SQL: when the limit ends, and when to check again if the end is not known. Either may be null. */
const endOf = ({ until }: HoldRule) => until ?? 'null::timestamptz';
const recheckOf = ({ recheck }: HoldRule) => (recheck ? `now() + ${recheck}` : 'null::timestamptz');

/**
 * SQL: the held rows of the expression `decided`: `message_id`, `due` (when to check again), `with_backlog` (whether
 * the message waits until its backlog is released) and `hold` (what the client sees).
 */
export function heldSql(table: Limits = limits): string {
  const holding = inClaim(table).flatMap((limit) =>
    limit.claim?.effect === 'hold' ? [{ ...limit, claim: limit.claim }] : [],
  );
  const cases = (value: (rule: HoldRule) => string) =>
    holding.map(({ name, claim }) => `when '${name}' then ${value(claim)}`).join(' ');
  const names = holding.filter(holdsBacklog).map(({ name }) => `'${name}'`);
  const figures = inClaim(table).flatMap(({ name, figures }) => (figures ? [`cross join ${name}`] : []));
  return `
    select message_id, with_backlog,
      case when with_backlog then expires_at else least(coalesce(ends_at, recheck_at), expires_at) end as due,
      jsonb_build_object('reason', held_by, 'until', case when ends_at is not null then least(ends_at, expires_at) end)
        as hold
    from (
      select q.message_id, q.held_by, ${EXPIRY} as expires_at,
        coalesce(q.held_by in (${['null', ...names].join(', ')}), false) as with_backlog,
        case q.held_by ${cases(endOf)} end as ends_at,
        case q.held_by ${cases(recheckOf)} end as recheck_at
      from decided q cross join account a ${figures.join(' ')} where q.held_by is not null) held`;
}

/**
 * SQL: a select of one row for the expression `account`: `recheck_at`, when to check again because a limit holds all
 * messages of the account (null: none does), and `room`, how many messages the quotas let go. A limit holds for at
 * least ten seconds. Needs {@link figuresCtes}.
 * @param channel SQL: the channel of the messages
 */
export function roomSql(channel: string, table: Limits = limits): string {
  const left = ({ name, quota }: Rules) => quota?.room?.(channel) ?? `${name}.remaining`;
  const holding = inClaim(table).flatMap((limit) =>
    limit.claim?.effect === 'hold' && holdsBacklog(limit) ? [{ ...limit, claim: limit.claim }] : [],
  );
  const rechecks = holding.map(
    ({ claim, ...limit }) =>
      `case when ${limit.condition?.sql ?? 'false'} or ${limit.quota ? `${left(limit)} <= 0` : 'false'}
        then least(${endOf(claim)}, ${recheckOf(claim)}) end`,
  );
  const rooms = holding.flatMap((limit) => (limit.quota ? [left(limit)] : []));
  const figures = inClaim(table).flatMap(({ name, figures }) => (figures ? [`cross join ${name}`] : []));
  return `
    select case when recheck_at is not null then greatest(recheck_at, now() + interval '10 seconds') end as recheck_at,
      room
    from (
      select least(${['null::timestamptz', ...rechecks].join(', ')}) as recheck_at,
        least(${['2147483647', ...rooms].join(', ')})::int as room
      from account a ${figures.join(' ')}) r`;
}

/** Counts the claimed messages in the limits with reservations, each message once. */
function takeCtes(accountId: string, setting: Setting, table: Limits): Cte[] {
  return inClaim(table).flatMap((limit) => {
    const rows = `(select * from decided where held_by is null and ${takesPlace(limit)}) taken`;
    return limit.reservation?.take?.(rows, accountId, setting) ?? [];
  });
}

/** SQL: assignments that write the reservations of a claimed queue row `q`, each with a comma before it. */
function reservationsSql(table: Limits): string {
  const passing = table
    .filter(({ claim }) => claim?.effect === 'pass')
    .map(({ condition }) => condition?.sql);
  const assignments = inClaim(table).flatMap(({ reservation, quota }) => {
    if (!reservation?.columns || !quota) return [];
    const takes = [`(${quota.counts})`, ...passing.map((sql) => `not (${sql})`)].join(' and ');
    return reservation.columns.map(
      ({ name, value }) => `${name} = case when ${takes} then ${value} else q.${name} end`,
    );
  });
  return assignments.map((assignment) => `, ${assignment}`).join('\n');
}

/**
 * What a claim derives from a table of limits: the `columns` of the picked rows, the `figures`, the expression
 * `decided`, what it `takes` from the limits and `reserves` in the queue rows, and the expression `held`.
 * @param accountId SQL @param setting of the limits
 */
export const decisionRegions = (accountId: string, setting: Setting): Regions<Limits> => ({
  columns: queueColumnsSql,
  figures: (table) => leadingCtes(figuresCtes(setting, table)),
  decided: decidedSql,
  takes: (table) => leadingCtes(takeCtes(accountId, setting, table)),
  reserves: reservationsSql,
  held: heldSql,
});
