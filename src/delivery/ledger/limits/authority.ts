import type { Config } from '../../../config.ts';
import type { ErrorCode } from '../../../errors.ts';
import { messageClasses } from '../../terms/message.ts';
import { accountPaused } from './account-paused.ts';
import { allowance } from './allowance.ts';
import { contentMissing } from './content-missing.ts';
import { domainDeleted } from './domain-deleted.ts';
import { domainUnverified } from './domain-unverified.ts';
import { expired } from './expired.ts';
import { gone } from './gone.ts';
import type { AcceptRule, CountedMessage, Limit } from './limit.ts';
import type { Cte } from '../../terms/sql-parts.ts';
import { pacing } from './pacing.ts';
import { sandboxCap } from './sandbox-cap.ts';
import { spendCap, spendCapEnd } from './spend-cap.ts';
import { suppressed } from './suppressed.ts';
import { wallet, walletEnd } from './wallet.ts';
import { warmUp } from './warm-up.ts';

/**
 * The delivery authority: all limits, in order. It alone decides whether a message may be sent, must wait, or is
 * refused. If several limits apply to a message, the first one decides.
 */
export const limits = [
  gone,
  spendCapEnd,
  walletEnd,
  expired,
  domainDeleted,
  accountPaused,
  domainUnverified,
  warmUp,
  pacing,
  allowance,
  sandboxCap,
  spendCap,
  wallet,
  suppressed,
  contentMissing,
] as const satisfies readonly Limit[];

type AnyLimit = (typeof limits)[number];

export type LimitName = AnyLimit['name'];

/** A limit that can refuse a message before hand-over. */
export type Refusal = Extract<AnyLimit, { handOver: object }>['name'];

/** The reason of messages whose provider no sender can use. It is no limit: senders hold what they do not claim. */
export const PROVIDER_UNAVAILABLE = 'provider_unavailable';

/** The reason of letters that are too large for their provider, or that it would send to the wrong people. */
export const PROVIDER_CANNOT_TAKE = 'provider_cannot_take';

/** Why a message is `held`. */
export type HoldReason =
  | Extract<AnyLimit, { claim: { effect: 'hold' } }>['name']
  | typeof PROVIDER_UNAVAILABLE
  | typeof PROVIDER_CANNOT_TAKE;

/** The names of limits with figures, such as how many messages they allow and how many were sent. */
export type FiguresName = Extract<AnyLimit, { figures: unknown }>['name'];

/** A table of limits; tests have their own. */
export type Limits = readonly Limit[];

/**
 * The limits that decide when a message of the class is claimed. POST /messages has reserved from the others before it
 * wrote a transactional message.
 */
export const limitsOf = (priority: number, table: Limits = limits): Limits =>
  priority === messageClasses.transactional ? table.filter(({ refusal }) => !refusal) : table;

/** The errors of all limits that refuse messages at accept. */
export const refusalCodes: readonly ErrorCode[] = (limits as Limits).flatMap(
  ({ accept, refusal }) => (accept ?? refusal)?.code ?? [],
);

/** The rules of the limits that refuse messages at accept by the statement that writes them. */
export const acceptRules: readonly AcceptRule[] = (limits as Limits).flatMap(({ accept }) => accept ?? []);

/** Whether one of the rules counts a message. Do not ask about tests of templates: they count, but it returns false. */
export const isCounted = (message: CountedMessage): boolean =>
  acceptRules.some((rule) => rule.takes(message) > 0);

export const holdReasons: readonly HoldReason[] = [
  ...(limits as Limits).filter(({ claim }) => claim?.effect === 'hold').map(({ name }) => name as HoldReason),
  PROVIDER_UNAVAILABLE,
  PROVIDER_CANNOT_TAKE,
];

/** Values of the settings that limits read, by name. */
export type LimitSettings = Readonly<Record<string, number>>;

export function limitSettings(config: Config): LimitSettings {
  return Object.assign({}, ...(limits as Limits).map(({ settings }) => settings?.(config))) as LimitSettings;
}

/**
 * SQL: `send`, or the name of the first limit that refuses the message. It is part of the statement that writes the
 * intent, so that no message leaves on a decision older than its intent. Needs `a`, `q`, `m`, `c` and `settings`.
 * @param isDecided whether `q` has the columns of {@link decidedLimitsSql}
 */
export function verdictSql(table: Limits = limits, isDecided = false): string {
  const refusals = table
    .filter(({ handOver, condition }) => handOver && condition)
    .map(
      ({ name, condition }) =>
        `when ${isDecided && condition?.reads !== 'message' ? decidedColumn(name) : condition?.sql} then '${name}'`,
    );
  return `case ${refusals.join('\n    ')}\n    else 'send' end`;
}

const decidedColumn = (name: string) => `q.limit_${name}`;

/**
 * SQL: columns that say which limits apply to all messages of the queue row `q`, each after a comma. For blocks, so
 * that these limits are decided once for all of their messages. Needs `a` and `q`.
 */
export function decidedLimitsSql(table: Limits = limits): string {
  return table
    .flatMap(({ name, handOver, condition }) =>
      handOver && condition && condition.reads !== 'message'
        ? [`, (${condition.sql}) as ${decidedColumn(name).slice(2)}`]
        : [],
    )
    .join('');
}

/** What happens to a message that the limit refuses. */
export function refusalRule(refusal: Refusal) {
  return (limits.find(({ name }) => name === refusal) as Extract<AnyLimit, { handOver: object }>).handOver;
}

/** Returns the reservations of messages that left the queue unsent. @param rows SQL: the table of their queue rows */
export function giveBackCtes(rows: string, table: Limits = limits): Cte[] {
  const reservations = table.flatMap(({ reservation }) => reservation ?? []);
  const first = reservations.filter(({ locksFirst }) => locksFirst !== undefined);
  const after = first.map(({ locksFirst }) => `(select count(*) from ${locksFirst}) >= 0`).join(' and ');
  return [
    ...first.flatMap(({ giveBack }) => giveBack?.(rows, 'true') ?? []),
    ...reservations
      .filter((each) => !first.includes(each))
      .flatMap(({ giveBack }) => giveBack?.(rows, after || 'true') ?? []),
  ];
}

/** Uses up the reservations of all other messages that left the queue. @param rows SQL: the table of their queue rows */
export function captureCtes(rows: string, table: Limits = limits): Cte[] {
  return table.flatMap(({ reservation }) => reservation?.capture?.(rows) ?? []);
}

/** The columns of `send_queue` that name reservations. */
export function reservationColumns(table: Limits = limits): string[] {
  return table.flatMap(({ reservation }) => reservation?.columns?.map(({ name }) => name) ?? []);
}
