/** Decides about a group of messages: what becomes of each is one outcome in a table. */
import type pg from 'pg';
import { findKept, keptOutcome } from '../../delivery/ledger/accept/kept-keys.ts';
import type { WrittenMessage } from '../../delivery/ledger/accept/new-message.ts';
import type { TrackingDefaults } from '../../delivery/ledger/accept/route.ts';
import { writtenTestOutcome } from '../../delivery/ledger/accept/test-messages.ts';
import {
  acceptMessages,
  type WriteOptions,
  type WriteOutcome,
} from '../../delivery/ledger/accept/write-messages.ts';
import { type Admission, isLimitRefusal } from '../../delivery/ledger/limits/admission.ts';
import { isCounted, type LimitSettings } from '../../delivery/ledger/limits/authority.ts';
import { messageClasses } from '../../delivery/terms/message.ts';
import { isPaidByMessage } from '../../delivery/terms/units.ts';
import { AppError } from '../../errors.ts';
import { isConnectionError } from '../../platform/db/queryable.ts';
import type { MessageDraft } from './draft.ts';
import { type HiddenKey, messageKeyOf } from './message-key.ts';
import type { KnownRefusals } from './known-refusals.ts';
import type { Payers } from './payers.ts';

export interface Submission {
  draft: MessageDraft;
  idempotencyKey: string | null;
  fingerprint: Buffer | null;
  /** A key that the client did not choose, in place of an `idempotencyKey`, to find a repeated message by. */
  hiddenKey?: HiddenKey | undefined;
  /** The first 16 bytes of the SHA-256 of the Message-ID that its client gave it. */
  alias?: Buffer | undefined;
}

export interface Row extends Submission {
  id: number;
}

/**
 * What became of a message. To the outcomes of the statement that writes it, this adds the refusal of a limit, and
 * `failed`: the statement failed because of this message, or the database did.
 */
export type Outcome = WriteOutcome | { kind: 'failed'; error: unknown };

export interface DecideDeps {
  pool: pg.Pool;
  limits: LimitSettings;
  tracking: TrackingDefaults;
  admission: Admission;
  payers: Payers;
  known: KnownRefusals;
  /** What happens to messages that cost something: see `WriteOptions`. */
  money: NonNullable<WriteOptions['money']>;
}

export type Outcomes = Map<Row, Outcome>;

/** How messages are written: a group in one statement, or in several if one of its messages makes it fail. */
export interface Way {
  /** @returns an outcome for each message; those that are written are committed */
  write(rows: readonly Row[]): Promise<Outcomes>;
  /** Whether the messages must not be divided, because all that are written are written in one transaction. */
  together: boolean;
}

/** Messages that one statement writes. */
interface Part {
  rows: readonly Row[];
  /** How often a limit has refused them as a whole. */
  looks: number;
}

/**
 * Maximum number of retries of a part that a limit refuses: other processes may use up what its accounts had left. Then
 * it is divided.
 */
const MAX_LOOKS = 3;

const draftsOf = (rows: readonly Row[]) => rows.map(({ draft }) => draft);

/**
 * Decides about messages of accounts that a limit has refused recently: they are replayed, refused, or written with the
 * rest.
 * @returns the messages to write
 */
async function setAside(
  rows: readonly Row[],
  outcomes: Outcomes,
  { pool, admission }: DecideDeps,
): Promise<readonly Row[]> {
  const suspects = rows.filter(({ draft }) => admission.isSuspect(draft.account_id));
  if (suspects.length === 0) return rows;
  const asked = suspects.map((row) => ({ brand_id: row.draft.brand_id, key: messageKeyOf(row), row }));
  for (const [{ row }, kept] of await findKept(pool, asked)) {
    outcomes.set(row, keptOutcome(kept, row.fingerprint));
  }
  const undecided = suspects.filter((row) => !outcomes.has(row));
  const refusals = await admission.refuse(draftsOf(undecided));
  for (const row of undecided) {
    const error = refusals.get(row.draft);
    if (error) outcomes.set(row, { kind: 'refused', error });
  }
  return rows.filter((row) => !outcomes.has(row));
}

/** The message of a row, as it is written. */
export const messageOf = (row: Row) => ({
  ...row.draft,
  ...(row.draft.test ? writtenTestOutcome(row.draft) : {}),
  id: row.id,
  key: messageKeyOf(row),
  alias: row.alias,
});

const inGroups = ({ pool, limits, tracking, money }: DecideDeps): Way => ({
  together: false,
  async write(rows) {
    const written = await acceptMessages(pool, rows.map(messageOf), {
      source: { class: messageClasses.transactional },
      limits,
      counted: rows.some(({ draft }) => isCounted(draft)),
      money,
      tracking,
    });
    return new Map(rows.map((row) => [row, written.get(row.id) ?? { kind: 'missing' }]));
  },
});

/**
 * Gives messages that their accounts cannot pay the error of a limit that refuses them, too: limits are checked before
 * money, as for accounts that pay nothing.
 */
export async function preferLimits(
  outcomes: Outcomes,
  { admission }: Pick<DecideDeps, 'admission'>,
): Promise<void> {
  const refused = [...outcomes].filter(([, { kind }]) => kind === 'refused').map(([row]) => row);
  if (refused.length === 0) return;
  const drafts = draftsOf(refused);
  admission.suspect(drafts);
  // The messages that fit are already committed: a failure here must not fail them.
  const earlier = await admission.refuse(drafts).catch(() => new Map<MessageDraft, AppError>());
  admission.forget(drafts);
  for (const row of refused) {
    const error = earlier.get(row.draft);
    if (error) outcomes.set(row, { kind: 'refused', error });
  }
}

/**
 * Remembers what the outcomes say about accounts: what they pay for, what they cannot pay, and what they have left.
 * @param raises how often accounts could pay more, before the messages were written
 */
export function learn(
  outcomes: Outcomes,
  { admission, payers, known }: Pick<DecideDeps, 'admission' | 'payers' | 'known'>,
  raises: number,
): void {
  for (const [{ draft }, outcome] of outcomes) {
    if (outcome.kind === 'pays') payers.add(draft);
    // The refusal of a limit does not concern all messages of the account.
    if (outcome.kind === 'refused' && !isLimitRefusal(outcome.error)) known.add(draft, outcome.error, raises);
    // A text may cost nothing because its country's price is 0. Its account still pays for others.
    const isFree = outcome.kind === 'written' && !outcome.isCharged && !draft.test;
    if (isFree && isPaidByMessage(draft.channel)) payers.forget(draft);
  }
  admission.forget(draftsOf([...outcomes].filter(([, { kind }]) => kind !== 'written').map(([row]) => row)));
}

/** After the connection was lost before the commit was confirmed: finds the messages that are in the database. */
export async function findCommitted(
  rows: readonly Row[],
  pool: Pick<pg.Pool, 'query'>,
  cause: unknown,
): Promise<Outcomes> {
  // Other messages of the group may be committed: a failure here must not fail them.
  const found = await pool
    .query<WrittenMessage>(
      `select id, from_address, reply_to, tracking, created_at, null as provider_id
       from messages where id = any($1::bigint[])`,
      [rows.map((row) => row.id)],
    )
    .catch(() => null);
  const written = new Map((found?.rows ?? []).map((message) => [message.id, message]));
  const what = found === null ? 'the database is unavailable' : 'the database connection was lost';
  const error = new AppError('unavailable', `${what}; try again`, { cause });
  return new Map(
    rows.map((row) => {
      const message = written.get(row.id);
      return [row, message ? { kind: 'written', message, isCharged: true } : { kind: 'failed', error }];
    }),
  );
}

/** The messages of each account, or else each message, so that one bad message does not fail the others. */
function divided(rows: readonly Row[]): Part[] {
  const accounts = Map.groupBy(rows, (row) => row.draft.account_id);
  const parts = accounts.size > 1 ? [...accounts.values()] : rows.map((row) => [row]);
  return parts.map((each) => ({ rows: each, looks: 0 }));
}

/**
 * Refuses messages that must not be divided, because of an error that concerns all of them, or those that a limit
 * counts.
 * @returns the others, which may be written
 */
function refuseTogether(error: AppError, rows: readonly Row[], outcomes: Outcomes): Part[] {
  const isConcerned = ({ draft }: Row) => !isLimitRefusal(error) || isCounted(draft);
  for (const row of rows.filter(isConcerned)) outcomes.set(row, { kind: 'refused', error });
  const others = rows.filter((row) => !isConcerned(row));
  return others.length > 0 ? [{ rows: others, looks: 0 }] : [];
}

/**
 * Decides what a failed statement means for its messages, none of which is written unless the connection was lost.
 * @returns the parts to try next
 */
async function afterFailure(
  error: unknown,
  { rows, looks }: Part,
  outcomes: Outcomes,
  { admission, pool }: DecideDeps,
  { together }: Way,
): Promise<Part[]> {
  const tried = rows.filter((row) => !outcomes.has(row));
  admission.forget(draftsOf(rows));
  const looksAgain = isLimitRefusal(error) && looks < MAX_LOOKS;
  if (together && error instanceof AppError && !looksAgain) return refuseTogether(error, tried, outcomes);
  // Those that were set aside may fit now: what the others would have taken is free again.
  for (const row of rows) outcomes.delete(row);
  if (isConnectionError(error)) {
    for (const [row, outcome] of await findCommitted(rows, pool, error)) outcomes.set(row, outcome);
    return [];
  }
  if (isLimitRefusal(error)) admission.suspect(draftsOf(rows));
  if (looksAgain) return [{ rows, looks: looks + 1 }];
  if (together) throw error;
  if (rows.length > 1) return divided(rows);
  for (const row of rows) outcomes.set(row, { kind: 'failed', error });
  return [];
}

/**
 * Writes the messages of a group that may be written, in one statement. If a limit refuses them, those that do not fit
 * are left out and the others are written, again in one statement. If one of the messages makes the statement fail, they
 * are written in parts, unless they must be written together.
 * @returns the outcome of each message
 * @throws the error of messages that must be written together; then none is
 */
export async function decide(
  rows: readonly Row[],
  deps: DecideDeps,
  way: Way = inGroups(deps),
): Promise<Outcomes> {
  const outcomes: Outcomes = new Map();
  const parts: Part[] = [{ rows, looks: 0 }];
  for (let part = parts.shift(); part; part = parts.shift()) {
    try {
      const fitting = await setAside(part.rows, outcomes, deps);
      if (fitting.length === 0) continue;
      const { raises } = deps.known;
      const decided = await way.write(fitting);
      await preferLimits(decided, deps);
      learn(decided, deps, raises);
      for (const [row, outcome] of decided) outcomes.set(row, outcome);
    } catch (error) {
      parts.unshift(...(await afterFailure(error, part, outcomes, deps, way)));
    }
  }
  return outcomes;
}
