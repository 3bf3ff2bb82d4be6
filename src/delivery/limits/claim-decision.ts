import { MESSAGE_LIFETIME } from '../message.ts';
import { limits, type Limits } from './authority.ts';
import type { ClaimRule, Cte, Limit, Setting } from './limit.ts';

type HoldRule = Extract<ClaimRule, { effect: 'hold' }>;

/** A message that is held until it expires is due just after that, so that the check before hand-over ends it. */
const EXPIRY = `queued_at + ${MESSAGE_LIFETIME} + interval '1 second'`;

/** Columns that the decision adds to a queue row. */
const applies = ({ name }: Limit) => `${name}_applies`;
const takesPlace = ({ name }: Limit) => `${name}_takes_place`;
const place = ({ name }: Limit) => `${name}_place`;

const inClaim = (table: Limits) => table.filter(({ claim }) => claim);

/** One expression for each limit with figures, named after the limit. They read the expression `account`. */
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
function quotaSql(limit: Limit, decided: readonly Limit[], rows: string): string {
  const takes = [`(${limit.quota?.counts})`, ...decided.map((each) => `not q.${applies(each)}`)].join(
    ' and ',
  );
  const partition = [`q.${takesPlace(limit)}`, ...(limit.quota?.per ? [limit.quota.per] : [])].join(', ');
  return `
    select q.*, q.${takesPlace(limit)} and q.${place(limit)} > ${limit.name}.remaining as ${applies(limit)}
    from (
      select q.*, row_number() over (partition by ${partition} order by q.message_id) as ${place(limit)}
      from (select q.*, ${takes} as ${takesPlace(limit)} from (${rows}) q) q
    ) q cross join ${limit.name}`;
}

/**
 * SQL: the rows of the expression `picked`, each with whether each limit applies to it. Conditions come first: a message
 * that one of them holds takes no place in a quota.
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
 * SQL: the queue rows of the expression `picked`, decided by the first limit of the table that applies to them. `held_by`
 * is its name, or null if the message is claimed.
 */
export function decidedSql(table: Limits = limits): string {
  const cases = inClaim(table).map(
    (limit) => `when q.${applies(limit)} then ${limit.claim?.effect === 'hold' ? `'${limit.name}'` : 'null'}`,
  );
  return `select q.*, case ${cases.join(' ')} end as held_by from (${weighedSql(table)}) q`;
}

/**
 * SQL: the held rows of the expression `decided`: `message_id`, `due` (when to look again) and `hold` (what the client
 * sees).
 */
export function heldSql(table: Limits = limits): string {
  const cases = (value: (rule: HoldRule) => string | null) =>
    inClaim(table).flatMap(({ name, claim }) =>
      claim?.effect === 'hold' ? [`when '${name}' then ${value(claim) ?? 'null'}`] : [],
    );
  const figures = inClaim(table).flatMap(({ name, figures }) => (figures ? [`cross join ${name}`] : []));
  return `
    select message_id, due,
      jsonb_build_object('reason', held_by, 'until', case when ends_at is not null then due end) as hold
    from (
      select *, least(coalesce(ends_at, now() + recheck), ${EXPIRY}) as due
      from (
        select q.message_id, q.queued_at, q.held_by,
          case q.held_by ${cases(({ until }) => until).join(' ')} end as ends_at,
          case q.held_by ${cases(({ recheck }) => recheck ?? null).join(' ')} end as recheck
        from decided q cross join account a ${figures.join(' ')} where q.held_by is not null) timed) held`;
}

/** Counts the claimed messages in the limits that reserve, once for each message. */
export function takeCtes(accountId: string, table: Limits = limits): Cte[] {
  return inClaim(table).flatMap((limit) => {
    const rows = `(select * from decided where held_by is null and ${takesPlace(limit)}) taken`;
    return limit.reservation?.take ? [limit.reservation.take(rows, accountId)] : [];
  });
}

/** SQL: assignments that write the reservations of a claimed queue row `q`, each with a comma before it. */
export function reservationsSql(table: Limits = limits): string {
  const passing = table
    .filter(({ claim }) => claim?.effect === 'pass')
    .map(({ condition }) => condition?.sql);
  const assignments = inClaim(table).flatMap(({ reservation, quota }) => {
    if (!reservation?.column || !quota) return [];
    const { name, value } = reservation.column;
    const takes = [`(${quota.counts})`, ...passing.map((sql) => `not (${sql})`)].join(' and ');
    return [`${name} = case when ${takes} then ${value} else q.${name} end`];
  });
  return assignments.map((assignment) => `, ${assignment}`).join('');
}
