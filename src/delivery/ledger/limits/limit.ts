import type { Config } from '../../../config.ts';
import type { ErrorCode } from '../../../errors.ts';
import type { Channel, FailureCode } from '../../terms/message.ts';
import type { Cte, Setting } from '../../terms/sql-parts.ts';

/**
 * A limit on what may be sent. Each limit is one file in this folder and one line of the table in `authority.ts`; the
 * statements that accept, claim, check and record messages, `GET /delivery/status`, the description of the API and the
 * documentation derive from that table.
 *
 * SQL in a limit sees these rows under these names:
 * - `a`: the account, a row of `accounts`
 * - `q`: the queue row, of `send_queue`; a claim reads `message_id`, `queued_at` and the `queueColumns` of the limits
 * - `m`: the message, of `messages`, and `c`, its content, of `message_contents`: before hand-over only
 * - `settings`, with `plus_addresses`: before hand-over only
 * - the limit's own name: its figures, in a claim and in the status
 */
export type Limit = Rules & Plain & Refusing;

/** All of a limit but how the short way treats it. */
export interface Rules {
  /** A SQL identifier. Also `hold.reason` of the messages that the limit holds. */
  readonly name: string;
  /** For the documentation: when the limit applies, or what it counts. */
  readonly title: string;
  /** The settings that its SQL reads, by name. */
  readonly settings?: (config: Config) => Record<string, number>;
  /**
   * SQL: a select of one row for the account `a`, with the columns `"limit"`, `used` and `remaining` (integers), and
   * `resets_at` (a time; null if nothing is used). A claim reads it once, under a lock of the account.
   */
  readonly figures?: Figures;
  /** The columns of `send_queue` that it reads in a claim. More columns make every claim slower. */
  readonly queueColumns?: readonly string[];
  /** Decides for one message. The claim and the check before hand-over share it. */
  readonly condition?: Condition;
  /** Lets as many messages go as `figures` has remaining. Applies in a claim. */
  readonly quota?: Quota;
  readonly accept?: AcceptRule;
  /**
   * POST /messages reserves before it writes a message, and refuses the message with this error. Claims of
   * transactional messages skip the limit; the check before hand-over (`handOver`) does not.
   */
  readonly refusal?: Refusal;
  readonly claim?: ClaimRule;
  readonly handOver?: HandOverRule;
  readonly reservation?: Reservation;
  readonly status?: StatusRule;
}

/**
 * How the short way of plain messages (`take_plain_messages`) treats the limit. It takes transactional emails at their
 * first attempt, and leaves them to the general claim unless it is certain that no limit holds or refuses them.
 * - `decided`: evaluates the condition for each message. If it applies to one, none is taken.
 * - `stands down`: reads the account's condition, or the figures, first. Takes nothing if the condition applies, or if
 *   `remaining` is less than the number of messages that it may take; so `remaining` must be the least that is left for
 *   any message.
 * - `never holds`: does not ask, because the limit can neither hold nor refuse these messages. They count in it if it
 *   has a reservation.
 *
 * The types exclude what cannot be right, such as a condition that is not evaluated.
 */
export type Plain =
  | {
      readonly plain: 'decided';
      readonly condition: Condition & { reads: 'queue' };
      readonly quota?: never;
    }
  | {
      readonly plain: 'decided';
      readonly condition: Condition & { reads: 'message' };
      /** A claim does not read messages, so only the check before hand-over can decide. */
      readonly claim?: never;
      readonly quota?: never;
    }
  | {
      readonly plain: 'stands down';
      readonly condition: Condition & { reads: 'account' };
      readonly quota?: never;
    }
  | {
      readonly plain: 'stands down';
      readonly figures: Figures;
      readonly quota: Quota & { remaining?: never; cost?: never };
    }
  | ({ readonly plain: 'never holds'; readonly condition?: never; readonly handOver?: never } & (
      | { readonly claim?: never }
      | { readonly quota: Quota & { holds: string } }
      | { readonly quota: Quota; readonly refusal: Refusal }
    ));

/**
 * No claim holds a transactional message because of a limit that refuses: if the check before hand-over released it, the
 * next claim would take it again, without end.
 */
type Refusing =
  | { readonly refusal?: never }
  | { readonly refusal: Refusal; readonly handOver?: Exclude<HandOverRule, { effect: 'release' }> };

type Figures = (setting: Setting) => string;

interface Refusal {
  code: FailureCode & ErrorCode;
  message: string;
}

export interface Condition {
  /**
   * Which rows it reads. `queue` includes the account, `message` includes both; a claim has no `message`. In claims of
   * blocks, `q.message_id` is the first message of the block, and intents of blocks have none.
   */
  reads: 'account' | 'queue' | 'message';
  /** SQL: true if the limit applies. */
  sql: string;
}

export interface Quota {
  /**
   * SQL over `q`: whether the message takes a place. A message that kept its place from an earlier claim takes no
   * other.
   */
  counts: string;
  /** SQL over `q` and the figures: how many places the message takes; by default one. */
  cost?: string;
  /** SQL over `q`: places are counted for each value of it, such as a sender; by default for the whole account. */
  per?: string;
  /** SQL over `q` and the figures: how many places are left for messages like `q`, by default `remaining`; null: no bound. */
  remaining?: string;
  /**
   * SQL over the figures: roughly how many messages of a channel it lets go; by default `remaining`.
   * @param channel SQL
   */
  room?: (channel: string) => string;
  /**
   * SQL over `q`: whether the limit may hold the message; by default it may. Other messages take their places and are
   * claimed.
   */
  holds?: string;
}

/** A message, with what the rules at accept count by. */
export interface CountedMessage {
  account_id: number;
  channel: Channel;
  test: boolean;
  segments?: number | null | undefined;
  /** The sending domain; null: an address of the service. */
  domain_id?: number | null | undefined;
}

/**
 * Refuses requests to send. What writes a group of messages decides (`reserve`): if one account has too
 * many, it writes nothing. Then `left` reads what each account of the group has left, the messages that take more
 * (`takes`) are refused, and the others are written. `takes` and `left` must agree with `reserve`.
 */
export interface AcceptRule {
  /** The error that the client receives. */
  code: ErrorCode;
  message: string;
  /** The SQL state that `reserve` raises to refuse. Each limit has its own. */
  sqlstate: string;
  /** Expressions that count the messages and raise `sqlstate` if there are too many. */
  reserve(statement: AcceptStatement): readonly Cte[];
  /**
   * Name of the expression that raises; its column is `refused`. The statement must select `count(refused)` from it,
   * because PostgreSQL does not evaluate a select that nothing reads.
   */
  refusals: string;
  /** How much of the limit a message takes. 0: the message does not count. */
  takes(message: CountedMessage): number;
  /** SQL over the account `a`: how much of the limit is left, an integer; null: no bound. Takes no lock. */
  left(setting: Setting): string;
}

/** Parts of what writes messages. It counts them last, because a counter's row stays locked until the commit. */
export interface AcceptStatement {
  /**
   * The table of messages that were written: `account_id`, `channel`, `status`, `test`, `segments`, `domain_id`, and the
   * `kind` of their accounts.
   */
  messages: string;
  setting: Setting;
}

export type ClaimRule =
  /** The message is claimed without regard to other limits and counts in none: the check before hand-over ends it. */
  | { effect: 'pass' }
  /**
   * The message becomes `held`. It is due again at the given time or, if the limit holds the whole account, when a
   * sender releases its backlog; but no later than it expires.
   */
  | {
      effect: 'hold';
      /** SQL over `a`, `q` and the figures: when the limit ends, shown as `hold.until`. null: the end is not known. */
      until: string | null;
      /** SQL: the interval after which senders check again if the end is not known, or if the limit may end earlier. */
      recheck?: string;
    };

/** What happens if the limit applies when the intent is written. The message is not handed over. */
export type HandOverRule =
  /** Removes the message from the queue and leaves its state as it is. */
  | { effect: 'drop' }
  /** Gives the claim back. The next claim holds the message. */
  | { effect: 'release' }
  | { effect: 'fail'; code: FailureCode; message: string };

/**
 * What messages reserve from the limit. A reservation is made once, in a claim (`take`) or when the message is accepted
 * (`accept.reserve`). When the message leaves the queue, the reservation is either returned (`giveBack`) or used up
 * (`capture`).
 *
 * Counters need a table of their own: these expressions become part of larger statements, and PostgreSQL updates a row
 * only once in a statement. So `giveBack` and `capture` must not update the same row either.
 */
export interface Reservation {
  /** The columns of `send_queue` that name a message's reservation (null: none), and SQL for their values. */
  columns?: readonly { name: string; value: string }[];
  /**
   * Counts messages as they are claimed.
   * @param rows SQL: the table of their queue rows, with the alias `taken`; may be empty
   */
  take?(rows: string, accountId: string, setting: Setting): readonly Cte[];
  /**
   * SQL over the account `a`: whether any of its messages count; by default they may. If few accounts have such
   * messages, this spares the short way `take`.
   */
  counts?(setting: Setting): string;
  /**
   * Returns what unsent messages have reserved.
   * @param rows SQL: the table of their queue rows, just removed
   * @param after SQL: a condition that is always true, but cannot be evaluated before the rows that have to be locked
   *   first are locked
   */
  giveBack?(rows: string, after: string): readonly Cte[];
  /**
   * Name of the expression of `giveBack` after which its rows are locked, if all statements lock these before the rows
   * of other limits.
   */
  locksFirst?: string;
  /** Uses up what other messages have reserved. @param rows SQL: the table of their queue rows, just removed */
  capture?(rows: string): readonly Cte[];
}

/** How `GET /delivery/status` shows an account that has reached the limit. */
export interface StatusRule {
  reason: string;
  /** `limited`: some messages wait or are refused. `blocked`: no message leaves. */
  state: 'limited' | 'blocked';
  /** SQL over `a` and the figures. */
  reached: string;
  /** What the limit does, and what the client can do about it. */
  remediation: string;
}
