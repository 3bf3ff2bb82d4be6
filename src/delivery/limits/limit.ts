import type { Config } from '../../config.ts';
import type { ErrorCode } from '../../errors.ts';
import type { FailureCode } from '../message.ts';

/**
 * What a limit is. Each limit is one file in this folder and one line in the table in `authority.ts`; the statements
 * that accept, claim and check messages, `GET /delivery/status` and the documentation derive from that table.
 *
 * Fragments of SQL see these rows by these names:
 * - `a`: the account (`accounts`)
 * - `q`: the queue row (`send_queue`)
 * - `m`: the message (`messages`) and `c` its content (`message_contents`), before hand-over only
 * - the limit's own name: its figures (see {@link Limit.figures}), at the claim and in the status only
 */
export interface Limit {
  /** Also the `reason` of the messages that it holds. A SQL identifier. */
  readonly name: string;
  /** For people: a noun phrase that completes "Limit: …" in the documentation. */
  readonly title: string;
  /** Settings that its SQL reads, by name. */
  readonly settings?: (config: Config) => Record<string, number>;
  /**
   * SQL: a select of one row for the account `a` with the columns `"limit"`, `used`, `remaining` (integers) and
   * `resets_at` (null: nothing is used). The claim reads it once, under the lock of the account.
   */
  readonly figures?: (setting: Setting) => string;
  /**
   * When the limit applies to a message, decided once for the claim and for the check before hand-over. One that
   * reads the account alone is evaluated once for a claim, the others for each row.
   */
  readonly condition?: Condition;
  /** Places of which each claimed message takes one. */
  readonly quota?: Quota;
  readonly accept?: AcceptRule;
  readonly claim?: ClaimRule;
  readonly handOver?: HandOverRule;
  readonly reservation?: Reservation;
  readonly status?: StatusRule;
}

/** SQL of a setting's value, an integer. */
export type Setting = (name: string) => string;

/** A common table expression: `name as (sql)`. */
export interface Cte {
  name: string;
  sql: string;
}

export interface Condition {
  /** The rows that it reads: `queue` may read the account as well, `message` all of them. */
  reads: 'account' | 'queue' | 'message';
  /** SQL: true if the limit applies. */
  sql: string;
}

/** A number of messages that may go; `figures` says how many remain. */
export interface Quota {
  /** SQL over `q`: whether the message takes a place. One that took its place at an earlier claim takes no other. */
  counts: string;
  /** SQL over `q`: what the places are counted by within the account, such as a sender. */
  per?: string;
}

/** Refuses a request to send, in the statement that writes its messages: nothing of the request is written. */
export interface AcceptRule {
  /** The error that the client gets. */
  code: ErrorCode;
  message: string;
  /** Raised by the limit's SQL if messages must not be written, and by nothing else. */
  sqlstate: string;
  /** Columns of `accounts` that it needs in the table of messages. */
  accountColumns: readonly string[];
  /** Counts the messages and raises {@link sqlstate}. Each of the statement's settings, tables and columns is in `sql`. */
  reserve(statement: AcceptStatement): readonly Cte[];
  /**
   * The last of those expressions, with a column `refused`. The statement has to select `count(refused)` from it:
   * PostgreSQL does not evaluate an expression that nothing reads.
   */
  refusals: string;
}

/** Parts of the statement that writes messages. */
export interface AcceptStatement {
  /** The table of messages to write: `account_id`, `channel`, `test`, `segments`, and `accountColumns`. */
  messages: string;
  /**
   * SQL: true once all rows are written. Counters wait for it: a counter's row is locked until the commit, and
   * whatever is done under that lock makes other requests of the account wait.
   */
  written: string;
  setting: Setting;
}

export type ClaimRule =
  /** The message is claimed past all other limits and counts in none: the check before hand-over ends it. */
  | { effect: 'pass' }
  /** The message is `held` until then, or until the end of its lifetime. */
  | {
      effect: 'hold';
      /** SQL over `q` and the figures: when it is due again, shown as `hold.until`. null: nobody can say. */
      until: string | null;
      /** SQL: an interval after which the limit is looked at again if `until` is null. */
      recheck?: string;
    };

/** What follows if the check that is part of the intent finds that the limit applies. Nothing is handed over. */
export type HandOverRule =
  /** The message leaves the queue as it is. */
  | { effect: 'drop' }
  /** The claim is given back; the next claim holds the message. */
  | { effect: 'release' }
  | { effect: 'fail'; code: FailureCode; message: string };

/** What a message reserves, and how that returns or is used up. */
export interface Reservation {
  /** Column of `send_queue` that names what the message has reserved; null: nothing. */
  column?: string;
  /** SQL: the column's value for a message that is claimed now. */
  value?: string;
  /** Counts claimed messages. @param rows SQL: a table of their queue rows */
  take?(rows: string, accountId: string): Cte;
  /** Undoes the reservations of messages that were not sent. @param rows SQL: a table of their queue rows */
  giveBack?(rows: string): readonly Cte[];
  /** Uses up the reservations of messages that were sent. @param rows SQL: a table of messages */
  capture?(rows: string): readonly Cte[];
}

/** How `GET /delivery/status` shows the limit while the account has reached it. */
export interface StatusRule {
  reason: string;
  /** `limited`: some messages wait or are refused. `blocked`: none leaves. */
  state: 'limited' | 'blocked';
  /** SQL over `a` and the figures. */
  reached: string;
  /** What the client can do, in a sentence or two. */
  remediation: string;
}
