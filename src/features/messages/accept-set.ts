/** Accepts sets of messages, each in one transaction: the copies of a letter, or messages that are sent together. */
import { findKept, keptOutcome } from '../../delivery/ledger/accept/kept-keys.ts';
import type { WrittenMessage } from '../../delivery/ledger/accept/new-message.ts';
import {
  type AddressedLetter,
  LetterRefusedError,
  type SetLetter,
  SetRefusedError,
  takeTogether,
  writeSet,
} from '../../delivery/ledger/accept/write-set.ts';
import { isLimitRefusal } from '../../delivery/ledger/limits/admission.ts';
import { isCounted } from '../../delivery/ledger/limits/authority.ts';
import { LETTER_QUEUE, RAW_QUEUE } from '../../delivery/terms/channels/queue-channel.ts';
import type { RecipientKind } from '../../delivery/terms/letter.ts';
import { messageClasses } from '../../delivery/terms/message.ts';
import { AppError } from '../../errors.ts';
import { isSameFingerprint, keyConflict } from '../../platform/db/idempotency.ts';
import { isConnectionError } from '../../platform/db/queryable.ts';
import { type AcceptDeps, type AcceptMemory, findLeaders, knownRefusal, queuedMessage } from './accept.ts';
import {
  decide,
  findCommitted,
  learn,
  messageOf,
  type Outcome,
  type Outcomes,
  preferLimits,
  type Row,
  type Submission,
} from './decide.ts';
import { messageKeyOf } from './message-key.ts';

/** A message of a set. Only the first one of a letter may have a key and an alias: it names the letter. */
export interface SetRow extends Submission {
  /** Where the recipient stands in the letter. */
  kind?: RecipientKind;
}

export type SetOutcome =
  | { kind: 'kept'; message: WrittenMessage }
  /** By an earlier request with the same key, or by an earlier message of the set. */
  | { kind: 'replayed'; id: number; status: number }
  /** Or nothing is wrong with it, but another message of its atomic set is refused. */
  | { kind: 'refused'; error: AppError };

export interface SetResult {
  /** False: nothing is written. A set that is not atomic is committed even if all its messages are refused. */
  committed: boolean;
  /** In the order of the messages. */
  outcomes: SetOutcome[];
}

/** With `letters`, all messages are of one account. */
export type SetOptions =
  { atomic: boolean; letters?: undefined } | { atomic: true; letters: readonly SetLetter[] };

export type { SetLetter };

export interface SetAcceptorDeps extends AcceptDeps {
  /** The kind of the provider of EMAIL_PROVIDER_URL. */
  emailProvider: string;
}

/** A message, and the letter of which it is a copy. */
type NumberedRow = Row & Pick<SetRow, 'kind'> & { of?: SetLetter | undefined };

/** What one set is decided with. */
interface Deciding {
  deps: SetAcceptorDeps & AcceptMemory;
  options: SetOptions;
  write: (rows: readonly NumberedRow[]) => Promise<Outcomes>;
}

const isThere = ({ kind }: Outcome) => kind === 'written' || kind === 'replayed';

/** The letters of messages, some of which may be left out: then all copies of a letter are. */
function lettersOf(rows: readonly NumberedRow[], defaultKind: string): SetLetter<AddressedLetter>[] {
  const of = Map.groupBy(rows.keys(), (n) => rows[n]?.of);
  return [...of].flatMap(([set, [first = 0]]) =>
    set ? [{ first, count: set.count, letter: { ...set.letter, defaultKind } }] : [],
  );
}

function writerOf(
  { pool, limits, tracking, emailProvider }: SetAcceptorDeps,
  { atomic, letters }: SetOptions,
) {
  return async (rows: readonly NumberedRow[]): Promise<Outcomes> => {
    const messages = rows.map((row) => ({ ...messageOf(row), kind: row.kind }));
    const written = await writeSet(pool, messages, {
      source: { class: messageClasses.transactional },
      limits,
      counted: rows.some(({ draft }) => isCounted(draft)),
      tracking,
      ...(letters ? { atomic: true, letters: lettersOf(rows, emailProvider) } : { atomic }),
    });
    return new Map(rows.map((row) => [row, written.get(row.id) ?? { kind: 'missing' }]));
  };
}

/** What became of letters whose keys earlier requests have taken, as outcomes of all their copies. */
async function replayedLetters(
  rows: readonly NumberedRow[],
  leads: ReadonlyMap<SetLetter, Outcome>,
  { pool }: AcceptDeps,
): Promise<Outcomes> {
  const written = [...leads.values()].flatMap((lead) => (lead.kind === 'replayed' ? [lead.id] : []));
  const { rows: found } = await pool.query<{ id: number; ids: number[] }>(
    'select id, message_ids as ids from letters where id = any ($1)',
    [written],
  );
  const idsOf = new Map(found.map(({ id, ids }) => [id, ids]));
  const outcomes: Outcomes = new Map();
  for (const [set, lead] of leads) {
    const copies = rows.filter(({ of }) => of === set);
    for (const [n, copy] of copies.entries()) {
      // The letter goes with the content, perhaps before its key.
      const replayed = lead.kind === 'replayed' ? { ...lead, id: idsOf.get(lead.id)?.[n] ?? lead.id } : lead;
      outcomes.set(copy, replayed);
    }
  }
  return outcomes;
}

/** What became of messages whose keys earlier requests have taken. The key of a letter decides about all its copies. */
async function findReplays(rows: readonly NumberedRow[], { deps }: Deciding): Promise<Outcomes> {
  const asked = rows.map((row) => ({ brand_id: row.draft.brand_id, key: messageKeyOf(row), row }));
  const kept = await findKept(deps.pool, asked);
  const outcomes: Outcomes = new Map();
  const leads = new Map<SetLetter, Outcome>();
  for (const [{ row }, found] of kept) {
    const outcome = keptOutcome(found, row.fingerprint);
    if (row.of) leads.set(row.of, outcome);
    else outcomes.set(row, outcome);
  }
  return leads.size === 0 ? outcomes : new Map([...outcomes, ...(await replayedLetters(rows, leads, deps))]);
}

/** What an error means for the messages of an atomic set. Those that are not concerned have no outcome. */
function refusalsOf(error: unknown, rows: readonly Row[], { admission }: AcceptMemory): Outcomes {
  if (error instanceof SetRefusedError) {
    return new Map(
      rows.flatMap((row) => {
        const refusal = error.refusals.get(row.id);
        if (refusal === null) return [];
        return [[row, refusal ? { kind: 'refused', error: refusal } : { kind: 'missing' }] as const];
      }),
    );
  }
  if (error instanceof LetterRefusedError) {
    const copies = rows.filter(({ id }) => error.ids.has(id));
    return new Map(copies.map((row) => [row, { kind: 'refused', error: error.error }]));
  }
  if (!(error instanceof AppError)) throw error;
  const isLimit = isLimitRefusal(error);
  if (isLimit) admission.suspect(rows.map(({ draft }) => draft));
  return new Map(
    rows.filter(({ draft }) => !isLimit || isCounted(draft)).map((row) => [row, { kind: 'refused', error }]),
  );
}

/**
 * Decides why an atomic set was not written.
 * @param raises how often accounts could pay more, before the set was to be written
 * @returns outcomes of messages that cannot be written. If all are replayed, the others can be.
 * @throws the error if it concerns the set as a whole
 */
async function whyNot(
  error: unknown,
  rows: readonly NumberedRow[],
  deciding: Deciding,
  raises: number,
): Promise<Outcomes> {
  const { deps } = deciding;
  if (isConnectionError(error)) {
    const outcomes = await findCommitted(rows, deps.pool, error);
    for (const outcome of outcomes.values()) if (outcome.kind === 'failed') throw outcome.error;
    return outcomes;
  }
  const refusals = refusalsOf(error, rows, deps);
  if (error instanceof SetRefusedError) {
    await preferLimits(refusals, deps);
    // What the messages before it would have taken may be enough for another message.
    if (refusals.size === rows.length) learn(refusals, deps, raises);
  }
  return new Map([...refusals, ...(await findReplays(rows, deciding))]);
}

/** Writes all messages or none. @returns the outcomes of those that are written, replayed or refused */
async function decideAtomic(rows: readonly NumberedRow[], deciding: Deciding): Promise<Outcomes> {
  const { deps, write } = deciding;
  if (rows.every((row) => !messageKeyOf(row))) {
    const refused: Outcomes = new Map();
    for (const row of rows) {
      const error = knownRefusal(row.draft, deps);
      if (error) refused.set(row, { kind: 'refused', error });
    }
    if (refused.size > 0) return refused;
  }
  const outcomes: Outcomes = new Map();
  const left = () => rows.filter((row) => !outcomes.has(row));
  const add = (more: Outcomes) => more.forEach((outcome, row) => outcomes.set(row, outcome));
  while (left().length > 0) {
    const { raises } = deps.known;
    try {
      const written = await write(left());
      learn(written, deps, raises);
      add(written);
    } catch (error) {
      const found = await whyNot(error, left(), deciding, raises);
      if (found.size === 0) throw error;
      add(found);
      if (![...outcomes.values()].every(isThere)) break;
    }
  }
  return outcomes;
}

function errorOf(outcome: Exclude<Outcome, { kind: 'written' | 'replayed' }>): AppError {
  switch (outcome.kind) {
    case 'refused':
      return outcome.error;
    case 'failed':
      // The connection was lost, and nothing of the set is committed.
      throw outcome.error;
    case 'conflict':
      return keyConflict();
    case 'missing':
    case 'pays':
      return new AppError('unavailable', 'the message could not be written; try again');
  }
}

function presented(outcome: Outcome): SetOutcome {
  if (outcome.kind === 'written') return { kind: 'kept', message: outcome.message };
  return outcome.kind === 'replayed' ? outcome : { kind: 'refused', error: errorOf(outcome) };
}

/** Whether a message has another payload than the first one with its key. */
const isConflict = (row: Row, leader: Row): boolean =>
  leader !== row && !isSameFingerprint(leader.fingerprint ?? Buffer.alloc(0), row.fingerprint);

/** The outcome of a message with the key of an earlier one. */
function followerOutcome(row: Row, leader: Row, outcome: SetOutcome): SetOutcome {
  if (isConflict(row, leader)) return { kind: 'refused', error: keyConflict() };
  return outcome.kind === 'kept' ? { kind: 'replayed', id: outcome.message.id, status: 201 } : outcome;
}

/** The error of a message that is not written because of another one. */
const becauseOf = (cause: AppError): AppError =>
  new AppError(cause.code, `another message was refused: ${cause.message}`, { cause });

/**
 * The results of the messages, of which those with one key have one leader.
 * @param decided the outcomes of leaders; those that are missing are not written because of others
 */
function resultsOf(rows: readonly Row[], leaderOf: ReadonlyMap<Row, Row>, decided: Outcomes): SetOutcome[] {
  const found = new Map([...decided].map(([row, outcome]) => [row, presented(outcome)]));
  const refused = [...found.values()].find((each) => each.kind === 'refused');
  const otherwise = refused
    ? { kind: 'refused' as const, error: becauseOf(refused.error) }
    : presented({ kind: 'missing' });
  return rows.map((row) => {
    const leader = leaderOf.get(row) as Row;
    const outcome = found.get(leader) ?? otherwise;
    return leader === row ? outcome : followerOutcome(row, leader, outcome);
  });
}

/** @returns the outcomes of leaders and, of an atomic set, of messages whose leaders have other payloads */
async function decideSet(
  leaderOf: ReadonlyMap<NumberedRow, NumberedRow>,
  deciding: Deciding,
): Promise<Outcomes> {
  const { deps, options, write } = deciding;
  const leaders = [...new Set(leaderOf.values())];
  if (!options.atomic) return decide(leaders, { ...deps, money: 'reserve' }, { write, together: true });
  const conflicts = [...leaderOf].filter(([row, leader]) => isConflict(row, leader));
  if (conflicts.length > 0) return new Map(conflicts.map(([row]) => [row, { kind: 'conflict' }]));
  return decideAtomic(leaders, deciding);
}

/** Numbers messages. The ids of a letter are of one range. */
async function numbered(
  given: readonly SetRow[],
  letters: readonly SetLetter[],
  take: (count: number) => Promise<number[]>,
): Promise<NumberedRow[]> {
  const rows: NumberedRow[] = given.map((row) => ({ ...row, id: 0 }));
  for (const of of letters) {
    const ids = await takeTogether(take, of.count);
    for (const [n, id] of ids.entries()) {
      rows[of.first + n] = { ...(rows[of.first + n] as NumberedRow), id, of };
    }
  }
  const others = rows.filter((row) => !row.of);
  const ids = others.length === 0 ? [] : await take(others.length);
  for (const [n, row] of others.entries()) row.id = ids[n] ?? 0;
  return rows;
}

/** The queue of a message, unless that is named as its channel. */
const queueOf = ({ of }: NumberedRow) => of && (of.letter.opaque ? RAW_QUEUE : LETTER_QUEUE);

/**
 * Accepts sets of messages: each message is written, replayed or refused for its own reason, and all that are written
 * are committed by one transaction before the result. If the set is atomic, all messages are there afterwards, or
 * nothing is written; one that an earlier request has written is there.
 * @param memory shared with the acceptor of single messages
 * @returns a function that accepts one set of at least one message. It throws AppError unavailable, and FileGoneError if
 *   a file of a letter has to be stored again; then nothing is written.
 */
export function createSetAcceptor(
  deps: SetAcceptorDeps,
  memory: AcceptMemory,
): (rows: readonly SetRow[], options: SetOptions) => Promise<SetResult> {
  return async (given, options) => {
    const rows = await numbered(given, options.letters ?? [], (count) => memory.ids.take(count));
    const leaderOf = findLeaders(rows);
    const decided = await decideSet(leaderOf, {
      deps: { ...deps, ...memory },
      options,
      write: writerOf(deps, options),
    });
    const queued = [...decided].flatMap(([row, outcome]) => queuedMessage(row.draft, outcome, queueOf(row)));
    if (queued.length > 0) deps.onQueued(queued);
    const outcomes = resultsOf(rows, leaderOf, decided);
    return { committed: !options.atomic || outcomes.every(({ kind }) => kind !== 'refused'), outcomes };
  };
}
