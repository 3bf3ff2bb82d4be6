import { AppError } from '../../errors.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { acceptRules, type LimitSettings, settingIn } from './authority.ts';
import type { AcceptRule, CountedMessage } from './limit.ts';

/** What is known about an account stays valid for this long. */
const KNOWN_MS = 1_000;
/** After this long without a refusal, an account's messages are written again without a look at its limits. */
const SUSPECT_MS = 60_000;
const MAX_SUSPECTS = 10_000;

/** What an account has left of each rule, in the order of the rules; null: no bound. */
type Left = (number | null)[];

interface Suspect {
  /** Undefined until it is read: a refusal shows that the figures known so far are wrong. */
  left: Left | undefined;
  readAt: number;
  refusedAt: number;
}

/**
 * Keeps accounts that have reached a limit out of the statement that writes the messages of all accounts. That
 * statement decides, and refuses a group as a whole. Only after a refusal are the accounts of the group looked at and
 * remembered as suspects.
 */
export interface Admission {
  /** The error for a message that takes more than its account had left within the last second, else null. */
  knownRefusal(message: CountedMessage): AppError | null;
  /** Whether {@link Admission.refuse} has to decide on the account's messages before they are written. */
  isSuspect(accountId: number): boolean;
  /** Remembers the accounts of messages that a statement refused together. */
  suspect(messages: readonly CountedMessage[]): void;
  /**
   * Decides, in the given order, which messages of suspect accounts do not fit. Reads what is left, at most once a
   * second for an account.
   * @returns the errors of those that do not fit
   */
  refuse<Message extends CountedMessage>(messages: readonly Message[]): Promise<Map<Message, AppError>>;
  /** Reads anew what the accounts have left: messages that {@link Admission.refuse} let pass were not written. */
  forget(messages: readonly CountedMessage[]): void;
}

/** Whether an error is the refusal of a limit. */
export function isLimitRefusal(error: unknown, rules: readonly AcceptRule[] = acceptRules): boolean {
  return error instanceof AppError && rules.some(({ code }) => code === error.code);
}

function leftSql(rules: readonly AcceptRule[]): string {
  const parts = rules.map(({ left }) => left(settingIn('$2::jsonb')));
  return `select a.id, json_build_array(${parts.join(', ')}) as "left" from accounts a where a.id = any($1::bigint[])`;
}

/** The first rule that has less left than the message takes. */
function exceeded(rules: readonly AcceptRule[], left: Left, message: CountedMessage): AcceptRule | undefined {
  return rules.find((rule, index) => {
    const takes = rule.takes(message);
    return takes > 0 && takes > (left[index] ?? Infinity);
  });
}

/** The accounts that a limit refused within the last minute. */
class Suspects {
  readonly #byAccount = new Map<number, Suspect>();
  readonly #clock: () => number;

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  find(accountId: number): Suspect | undefined {
    const suspect = this.#byAccount.get(accountId);
    if (!suspect || this.#clock() - suspect.refusedAt < SUSPECT_MS) return suspect;
    this.#byAccount.delete(accountId);
    return undefined;
  }

  /** What the account has left, if that was read within the last second. */
  knownLeft(accountId: number): Left | undefined {
    const suspect = this.find(accountId);
    return suspect && this.#clock() - suspect.readAt < KNOWN_MS ? suspect.left : undefined;
  }

  add(accountId: number): void {
    this.#byAccount.delete(accountId);
    this.#byAccount.set(accountId, { left: undefined, readAt: 0, refusedAt: this.#clock() });
    if (this.#byAccount.size <= MAX_SUSPECTS) return;
    const [oldest] = this.#byAccount.keys();
    if (oldest !== undefined) this.#byAccount.delete(oldest);
  }

  learn(accountId: number, left: Left): void {
    const suspect = this.#byAccount.get(accountId);
    if (suspect) Object.assign(suspect, { left, readAt: this.#clock() });
  }

  forget(accountId: number): void {
    const suspect = this.#byAccount.get(accountId);
    if (suspect) suspect.left = undefined;
  }

  refused(suspect: Suspect): void {
    suspect.refusedAt = this.#clock();
  }
}

function refusalOf(rule: AcceptRule): AppError {
  return new AppError(rule.code, rule.message);
}

/**
 * @param db may be a pool
 * @param settings of the limits
 * @param rules other rules, for tests
 * @param clock milliseconds since any moment; tests set it
 */
export function createAdmission(
  db: Queryable,
  settings: LimitSettings,
  rules: readonly AcceptRule[] = acceptRules,
  clock: () => number = Date.now,
): Admission {
  const suspects = new Suspects(clock);
  const sql = leftSql(rules);

  async function read(accountIds: number[]): Promise<void> {
    if (accountIds.length === 0) return;
    const { rows } = await db.query<{ id: number; left: Left }>(sql, [accountIds, JSON.stringify(settings)]);
    for (const { id, left } of rows) suspects.learn(id, left);
  }

  /** Subtracts what the message takes from what is left, or returns the error if that is not enough. */
  function take(suspect: Suspect, message: CountedMessage): AppError | null {
    if (!suspect.left) return null;
    const rule = exceeded(rules, suspect.left, message);
    suspect.left = rule
      ? suspect.left
      : suspect.left.map((each, index) => each && each - (rules[index]?.takes(message) ?? 0));
    if (rule) suspects.refused(suspect);
    return rule ? refusalOf(rule) : null;
  }

  return {
    knownRefusal(message) {
      const left = suspects.knownLeft(message.account_id);
      const rule = left && exceeded(rules, left, message);
      return rule ? refusalOf(rule) : null;
    },
    isSuspect: (accountId) => suspects.find(accountId) !== undefined,
    suspect(messages) {
      for (const id of new Set(messages.map((message) => message.account_id))) suspects.add(id);
    },
    async refuse(messages) {
      const ids = new Set(messages.map((message) => message.account_id));
      await read([...ids].filter((id) => suspects.find(id) && !suspects.knownLeft(id)));
      const refused = new Map<(typeof messages)[number], AppError>();
      for (const message of messages) {
        const suspect = suspects.find(message.account_id);
        const error = suspect && take(suspect, message);
        if (error) refused.set(message, error);
      }
      return refused;
    },
    forget(messages) {
      for (const message of messages) suspects.forget(message.account_id);
    },
  };
}
