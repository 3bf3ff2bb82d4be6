import { LRUCache } from 'lru-cache';
import { AppError } from '../../../errors.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { defineSql } from '../../../platform/db/sql/define.ts';
import { acceptRules, isCounted, type LimitSettings } from './authority.ts';
import { settingIn } from '../../terms/sql-parts.ts';
import type { AcceptRule, CountedMessage } from './limit.ts';

/**
 * The channel on which the database notifies processes that accounts may send more, by triggers: a credit, a higher
 * cap, another tier. The hints are the ids of the accounts.
 */
export const FUNDS_CHANNEL = 'funds';

/** How long the figures read for an account stay valid. */
const KNOWN_MS = 1_000;
/**
 * How long after its last refusal an account stays suspect. Messages of other accounts are written without reading
 * limits first.
 */
const SUSPECT_MS = 60_000;
const MAX_SUSPECTS = 10_000;

/** What an account has left under each rule, in the order of the rules; null: no bound. */
type Left = (number | null)[];

interface Known {
  /** Undefined until it is read: after a refusal, the figures known so far are wrong. */
  left: Left | undefined;
}

interface Suspect extends Known {
  readAt: number;
}

/**
 * Keeps accounts that have reached a limit out of the statement that writes the messages of all accounts. That
 * statement decides, and refuses a group as a whole. Only after a refusal are the accounts of the group remembered as
 * suspects and their limits read.
 */
export interface Admission {
  /** The error for a message that takes more than its account had left within the last second, else null. */
  knownRefusal(message: CountedMessage): AppError | null;
  /** Whether {@link Admission.refuse} has to decide on the account's messages before they are written. */
  isSuspect(accountId: number): boolean;
  /** Marks the accounts of a refused group of messages as suspects. */
  suspect(messages: readonly CountedMessage[]): void;
  /**
   * Decides, in the given order, which messages of suspect accounts do not fit. Reads what is left, at most once a
   * second for an account.
   * @returns the errors of those that do not fit
   */
  refuse<Message extends CountedMessage>(messages: readonly Message[]): Promise<Map<Message, AppError>>;
  /**
   * Discards what is known of the accounts, so that it is read again. Call it if messages that {@link Admission.refuse}
   * let pass were not written.
   */
  forget(messages: readonly CountedMessage[]): void;
  /** Discards what is known of accounts that may send more now. @param accountIds null: of all accounts */
  raise(accountIds: readonly number[] | null): void;
}

/** Whether an error is the refusal of a limit. */
export function isLimitRefusal(error: unknown, rules: readonly AcceptRule[] = acceptRules): boolean {
  return error instanceof AppError && rules.some(({ code }) => code === error.code);
}

export const readLeft = defineSql(import.meta.url, './read_left.sql', {
  table: acceptRules,
  regions: { left: (rules) => rules.map(({ left }) => left(settingIn('$2::jsonb'))).join(', ') },
});

const readLeftOf = (
  accountIds: readonly number[],
  settings: LimitSettings,
  rules: readonly AcceptRule[],
) => ({
  ...(rules === acceptRules ? readLeft : readLeft.filled(rules)),
  values: [accountIds, JSON.stringify(settings)],
});

/** The first rule that has less left than the message takes. */
function exceeded(rules: readonly AcceptRule[], left: Left, message: CountedMessage): AcceptRule | undefined {
  return rules.find((rule, index) => {
    const takes = rule.takes(message);
    return takes > 0 && takes > (left[index] ?? Infinity);
  });
}

/** Subtracts what the message takes from what is left. @returns the rule that has too little left, if any */
function take(rules: readonly AcceptRule[], account: Known, message: CountedMessage): AcceptRule | undefined {
  const { left } = account;
  const rule = left && exceeded(rules, left, message);
  if (!rule) account.left = left?.map((each, index) => each && each - (rules[index]?.takes(message) ?? 0));
  return rule;
}

/** Lets what suspects have left be read again. */
function discard(suspects: LRUCache<number, Suspect>, accountIds: Iterable<number>): void {
  for (const id of accountIds) {
    const suspect = suspects.peek(id);
    if (suspect) suspect.left = undefined;
  }
}

function refusalOf(rule: AcceptRule): AppError {
  return new AppError(rule.code, rule.message);
}

/**
 * Decides, in the given order, which messages take more than their accounts have left, as {@link Admission.refuse} does
 * for suspects, but reads all figures and remembers none: the messages of a transaction may not be committed.
 * @param db the transaction that writes the messages
 * @returns the errors of those that do not fit
 */
export async function findExceeding<Message extends CountedMessage>(
  db: Queryable,
  messages: readonly Message[],
  settings: LimitSettings,
): Promise<Map<Message, AppError>> {
  const ids = new Set(messages.filter(isCounted).map((message) => message.account_id));
  const { rows } = await db.query<{ id: number; left: Left }>(readLeftOf([...ids], settings, acceptRules));
  const accounts = new Map<number, Known>(rows.map(({ id, left }) => [id, { left }]));
  const exceeding = new Map<Message, AppError>();
  for (const message of messages) {
    const account = accounts.get(message.account_id);
    const rule = account && take(acceptRules, account, message);
    if (rule) exceeding.set(message, refusalOf(rule));
  }
  return exceeding;
}

/**
 * @param db may be a pool
 * @param settings of the limits
 * @param rules other rules, for tests
 * @param clock returns milliseconds since a fixed moment; tests set it
 */
export function createAdmission(
  db: Queryable,
  settings: LimitSettings,
  rules: readonly AcceptRule[] = acceptRules,
  clock: () => number = Date.now,
): Admission {
  /** Accounts with messages that a limit refused within the last minute. */
  const suspects = new LRUCache<number, Suspect>({
    max: MAX_SUSPECTS,
    ttl: SUSPECT_MS,
    ttlResolution: 0,
    perf: { now: clock },
  });
  /** How often accounts were raised: what was read meanwhile may be older. */
  let raises = 0;

  async function read(accountIds: number[]): Promise<void> {
    if (accountIds.length === 0) return;
    const raisesBefore = raises;
    const { rows } = await db.query<{ id: number; left: Left }>(readLeftOf(accountIds, settings, rules));
    for (const { id, left } of rows) {
      Object.assign(suspects.get(id) ?? {}, { left, readAt: raises === raisesBefore ? clock() : -Infinity });
    }
  }

  /** What the account has left, if that was read within the last second. */
  function knownLeft(accountId: number): Left | undefined {
    const suspect = suspects.get(accountId);
    return suspect && clock() - suspect.readAt < KNOWN_MS ? suspect.left : undefined;
  }

  return {
    knownRefusal(message) {
      const left = knownLeft(message.account_id);
      const rule = left && exceeded(rules, left, message);
      return rule ? refusalOf(rule) : null;
    },
    isSuspect: (accountId) => suspects.has(accountId),
    suspect(messages) {
      for (const { account_id: id } of messages) suspects.set(id, { left: undefined, readAt: 0 });
    },
    async refuse(messages) {
      const ids = new Set(messages.map((message) => message.account_id));
      await read([...ids].filter((id) => suspects.has(id) && !knownLeft(id)));
      const refused = new Map<(typeof messages)[number], AppError>();
      for (const message of messages) {
        const suspect = suspects.get(message.account_id);
        const rule = suspect && take(rules, suspect, message);
        if (!rule) continue;
        refused.set(message, refusalOf(rule));
        // The account is suspect for another minute.
        suspects.set(message.account_id, suspect);
      }
      return refused;
    },
    forget: (messages) =>
      discard(
        suspects,
        messages.map(({ account_id: id }) => id),
      ),
    raise(accountIds) {
      raises += 1;
      discard(suspects, accountIds ?? suspects.keys());
    },
  };
}
