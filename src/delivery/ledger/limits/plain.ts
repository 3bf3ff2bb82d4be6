/**
 * What `take_plain_messages.sql` derives from the table of limits. The limits see the rows of `limit.ts`: `a` is a
 * variable of the function.
 */
import type { Regions } from '../../../platform/db/sql/regions.ts';
import { type Cte, furtherCtes, leadingCtes, settingIn } from '../../terms/sql-parts.ts';
import { messageClasses } from '../../terms/message.ts';
import { type Limits, limitsOf } from './authority.ts';
import type { Condition, Quota, Rules } from './limit.ts';

const setting = settingIn('limit_settings');

const open = (table: Limits) => limitsOf(messageClasses.transactional, table);

/** The conditions that a claim evaluates, and those that the check before hand-over evaluates: it skips no limit. */
function conditions(table: Limits, reads: Condition['reads']): string[] {
  const asked = table.filter(({ refusal, handOver }) => refusal === undefined || handOver !== undefined);
  return asked.flatMap(({ plain, condition }) =>
    plain !== 'never holds' && condition?.reads === reads ? [condition.sql] : [],
  );
}

/** Conditions of a `where` or a `bool_and`, each on its own line: none of the limits applies. */
const noneApplies = (table: Limits, reads: Condition['reads']) =>
  conditions(table, reads)
    .map((sql) => `and (${sql}) is not true`)
    .join('\n');

/** SQL: whether the limit may hold one of `max_messages` messages. */
const mayHold = ({ figures }: Rules) =>
  figures ? `max_messages > coalesce((select f.remaining from (${figures(setting)}) f), 0)` : 'true';

function standsDown(table: Limits): string {
  const quotas = open(table).filter(({ plain, quota }) => plain === 'stands down' && quota !== undefined);
  const applies = conditions(table, 'account').map((sql) => `(${sql}) is true`);
  const reasons = [...applies, ...quotas.map(mayHold)];
  return reasons.length === 0 ? 'false' : reasons.join('\nor ');
}

/** The limits in which messages count when they are taken. */
function counting(table: Limits): (Rules & { quota: Quota })[] {
  return open(table).flatMap((limit) =>
    limit.claim && limit.quota && limit.reservation ? [{ ...limit, quota: limit.quota }] : [],
  );
}

/** Expressions that count the messages in a limit: its figures, if it reads them, and what it counts. */
function takeCtes({ name, figures, quota, reservation }: Rules & { quota: Quota }): Cte[] {
  const rows = `(select q.* from send_queue q where q.message_id = any(ids) and ${quota.counts}) taken`;
  const taken = reservation?.take?.(rows, 'account', setting) ?? [];
  const reads = figures && taken.some(({ sql }) => new RegExp(`\\b${name}\\b`).test(sql));
  return [...(reads ? [{ name, sql: figures(setting), materialized: true as const }] : []), ...taken];
}

/**
 * Limits count in the order of the table, so that all calls lock their counters in one order. Those after the last one
 * that says when it counts do so in the statement that claims: a statement of their own would cost more.
 */
function divided(table: Limits) {
  const all = counting(table).map((limit, n) => ({ limit, n, counts: limit.reservation?.counts }));
  const end = all.findLastIndex(({ counts }) => counts !== undefined) + 1;
  return { before: all.slice(0, end), atOnce: all.slice(end) };
}

/** How many messages take a place, for each limit that counts before they are claimed. */
const places = (table: Limits) =>
  divided(table)
    .before.map(
      ({ limit: { name, quota } }, n) =>
        `${n > 0 ? ', ' : ''}count(*) filter (where ${quota.counts}) -- ${name}`,
    )
    .join('\n');

/** Counts the messages in limits before they are claimed, if any of them counts. */
const takes = (table: Limits) =>
  divided(table)
    .before.map(({ limit, n, counts }) => {
      const condition = [`places[${n + 1}] > 0`, ...(counts ? [`(${counts(setting)})`] : [])].join(' and ');
      const ctes = takeCtes(limit);
      const [only] = ctes;
      const statement =
        only && ctes.length === 1
          ? only.sql.trim()
          : `with ${furtherCtes(ctes).slice(2)} select 1 into counted`;
      return ctes.length === 0 ? '' : `if ${condition} then\n${statement};\nend if;`;
    })
    .join('\n');

const takesAtOnce = (table: Limits) =>
  leadingCtes(divided(table).atOnce.flatMap(({ limit }) => takeCtes(limit)));

/** Assignments that write the reservations of a queue row `q`. */
const reserved = (table: Limits) =>
  counting(table)
    .flatMap(({ quota, reservation }) =>
      (reservation?.columns ?? []).map(
        ({ name, value }) => `, ${name} = case when ${quota.counts} then ${value} else q.${name} end`,
      ),
    )
    .join('\n');

export const plainRegions: Regions<Limits> = {
  stands_down: standsDown,
  none_applies_to_row: (table) => noneApplies(table, 'queue'),
  places,
  takes,
  takes_at_once: takesAtOnce,
  reserved,
  none_applies_to_message: (table) => noneApplies(table, 'message'),
};
