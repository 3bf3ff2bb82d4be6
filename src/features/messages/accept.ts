import type pg from 'pg';
import type { WrittenMessage } from '../../delivery/ledger/accept/new-message.ts';
import { MESSAGE_ID_SEQUENCE } from '../../delivery/ledger/accept/write-messages.ts';
import type { TrackingDefaults } from '../../delivery/ledger/accept/write-statement.ts';
import { DEFAULT_PROVIDER } from '../../delivery/terms/backlog.ts';
import { type Admission, createAdmission, isLimitRefusal } from '../../delivery/ledger/limits/admission.ts';
import type { LimitSettings } from '../../delivery/ledger/limits/authority.ts';
import { isUnreserved } from '../../delivery/ledger/accept/reserve.ts';
import { AppError } from '../../errors.ts';
import { createCoalescer } from '../../platform/db/coalescer.ts';
import { createIdAllocator, type IdAllocator } from '../../platform/db/id-allocator.ts';
import { requireSameFingerprint } from '../../platform/db/idempotency.ts';
import { isConnectionError, type Queryable } from '../../platform/db/queryable.ts';
import type { MessageDraft } from './draft.ts';
import { findKept, type KeptKey } from './kept-keys.ts';
import { createPayers, type Payers } from './payers.ts';
import {
  createPaidWriter,
  createUnpaidWriter,
  KnownRefusals,
  type Row,
  type Submission,
  type WriteGroup,
} from './write-group.ts';

const MAX_GROUP = 100;
/**
 * How long messages gather under a steady load, in ms: the statement itself costs as much as the rows of ten messages.
 */
const GROUP_INTERVAL_MS = 3;
const MAX_GROUP_BYTES = 8 * 1024 * 1024;
/**
 * Maximum number of retries of a whole group: other processes may use up what its accounts had left. Then it is written
 * in parts.
 */
const MAX_LOOKS = 3;

/** The message of a submission: written now, or by an earlier request with the same key. */
export type Accepted =
  { replayed: false; written: WrittenMessage } | { replayed: true; id: number; status: number };

export interface AcceptDeps {
  pool: pg.Pool;
  /** Settings of the limits that may refuse messages. */
  limits: LimitSettings;
  tracking: TrackingDefaults;
  /** Called after each commit with the messages of the group, some of which may not have been written. */
  onQueued: (messages: readonly QueuedMessage[]) => void;
  /**
   * Called once with a function that must be called when accounts may send more than before.
   * @param forget its argument is the accounts; null: perhaps all
   */
  watchFunds: (forget: (accountIds: readonly number[] | null) => void) => void;
}

export interface QueuedMessage {
  draft: MessageDraft;
  /** The provider whose share of the queue it waits in. */
  providerId: number;
}

type Result = { ok: true; accepted: Accepted } | { ok: false; error: unknown };

/** The follower's leader failed, and the follower has another payload: it must be submitted again. */
const AGAIN = Symbol('again');

/** The account turned out to pay for the message: it must be submitted to the groups of paid messages. */
const PAID = Symbol('paid');

interface GroupDeps extends AcceptDeps {
  admission: Admission;
  payers: Payers;
  known: KnownRefusals;
  writeGroup: WriteGroup;
}

async function findWritten(client: Queryable, rows: Row[]): Promise<Map<number, WrittenMessage>> {
  const result = await client.query<WrittenMessage>(
    `select id, from_address, reply_to, tracking, created_at, null as provider_id
     from messages where id = any($1::bigint[])`,
    [rows.map((row) => row.id)],
  );
  return new Map(result.rows.map((row) => [row.id, row]));
}

/** The result of a request that repeats an earlier one. */
function replay(kept: KeptKey, { fingerprint }: Submission): Result {
  try {
    requireSameFingerprint(kept.fingerprint, fingerprint ?? Buffer.alloc(0));
  } catch (error) {
    return { ok: false, error };
  }
  return { ok: true, accepted: { replayed: true, id: kept.resource_id, status: kept.status } };
}

/** The result of a message that was not written although nothing refused it: an earlier request took its key. */
function unwrittenResult(kept: KeptKey | undefined, row: Row): Result {
  if (kept) return replay(kept, row);
  return { ok: false, error: new AppError('unavailable', 'the message could not be written; try again') };
}

function writtenResult(row: Row, written: Map<number, WrittenMessage>): Result | null {
  const message = written.get(row.id);
  return message ? { ok: true, accepted: { replayed: false, written: message } } : null;
}

/**
 * After the connection was lost before the commit was confirmed: reports the messages that are in the database as
 * accepted.
 */
async function resultsAfterLostConnection(rows: Row[], pool: pg.Pool, cause: unknown): Promise<Result[]> {
  const written = await findWritten(pool, rows).catch(() => {
    throw new AppError('unavailable', 'the database is unavailable; try again', { cause });
  });
  const error = new AppError('unavailable', 'the database connection was lost; try again', { cause });
  return rows.map((row) => writtenResult(row, written) ?? { ok: false, error });
}

/** Decides which messages of recently refused accounts are replayed, refused, or written with the rest. */
async function sortOut(rows: readonly Row[], { pool, admission }: GroupDeps) {
  const suspects = rows.filter((row) => admission.isSuspect(row.draft.account_id));
  const kept = await findKept(pool, suspects);
  const undecided = suspects.filter((row) => !kept.has(row));
  const refusals = await admission.refuse(undecided.map((row) => row.draft));
  const fitting = rows.filter((row) => !kept.has(row) && !refusals.has(row.draft));
  return { kept, refusals, fitting };
}

/**
 * The errors of messages that their accounts cannot pay. If a limit that is checked before money refuses a message,
 * too, its error counts, as for accounts that pay nothing.
 */
async function firstRefusals(
  refused: Map<Row, AppError>,
  { admission }: GroupDeps,
): Promise<Map<Row, AppError>> {
  const drafts = [...refused.keys()].map(({ draft }) => draft);
  admission.suspect(drafts);
  // The messages that fit are already committed: a failure here must not fail them.
  const earlier = await admission.refuse(drafts).catch(() => new Map<MessageDraft, AppError>());
  admission.forget(drafts);
  return new Map([...refused].map(([row, error]) => [row, earlier.get(row.draft) ?? error]));
}

/**
 * Writes a group in one statement. If a limit refuses the group, it leaves out the messages that do not fit and writes
 * the others, again in one statement. If one of the messages makes the statement fail, it retries in parts.
 */
async function acceptGroup(rows: Row[], deps: GroupDeps, looks = 0): Promise<Result[]> {
  const { kept, refusals, fitting } = await sortOut(rows, deps);
  let written = new Map<number, WrittenMessage>();
  try {
    if (fitting.length > 0) {
      const group = await deps.writeGroup(fitting);
      ({ written } = group);
      for (const [{ draft }, error] of await firstRefusals(group.refused, deps)) refusals.set(draft, error);
    }
  } catch (error) {
    deps.admission.forget(fitting.map((row) => row.draft));
    if (isUnreserved(error) && looks < MAX_LOOKS) return acceptUnpaid(rows, deps, looks + 1);
    if (isConnectionError(error)) return resultsAfterLostConnection(rows, deps.pool, error);
    if (isLimitRefusal(error)) {
      deps.admission.suspect(fitting.map((row) => row.draft));
      if (looks < MAX_LOOKS) return acceptGroup(rows, deps, looks + 1);
    }
    if (rows.length > 1) return acceptInParts(rows, deps);
    return [{ ok: false, error }];
  }
  const unwritten = fitting.filter((row) => !written.has(row.id) && !refusals.has(row.draft));
  deps.admission.forget(unwritten.map((row) => row.draft));
  const found = new Map([...kept, ...(await findKept(deps.pool, unwritten))]);
  return rows.map((row) => {
    const error = refusals.get(row.draft);
    return error
      ? { ok: false, error }
      : (writtenResult(row, written) ?? unwrittenResult(found.get(row), row));
  });
}

/** Accepts the messages of a group that cost nothing. The others have the error {@link PAID}. */
async function acceptUnpaid(rows: Row[], deps: GroupDeps, looks: number): Promise<Result[]> {
  await deps.payers.learn(rows.map(({ draft }) => draft.account_id));
  const unpaid = rows.filter(({ draft }) => !deps.payers.pays(draft));
  const results = new Map(
    (await acceptGroup(unpaid, deps, looks)).map((result, index) => [unpaid[index], result]),
  );
  return rows.map((row) => results.get(row) ?? { ok: false, error: PAID });
}

/**
 * Accepts the messages of each account separately, then each message, so that one bad message does not fail the others.
 */
async function acceptInParts(rows: Row[], deps: GroupDeps): Promise<Result[]> {
  const accounts = Map.groupBy(rows, (row) => row.draft.account_id);
  const parts = accounts.size > 1 ? [...accounts.values()] : rows.map((row) => [row]);
  return inOrder(rows, parts, (part) => acceptGroup(part, deps));
}

/** Accepts parts of a group one after another. @returns the results in the order of `rows` */
async function inOrder(
  rows: Row[],
  parts: Row[][],
  accept: (part: Row[]) => Promise<Result[]>,
): Promise<Result[]> {
  const results = new Map<Row, Result>();
  for (const part of parts) {
    for (const [index, result] of (await accept(part)).entries()) results.set(part[index] as Row, result);
  }
  return rows.map((row) => results.get(row) as Result);
}

function queuedMessage(draft: MessageDraft, result: Result | undefined): QueuedMessage | null {
  if (!result?.ok) return null;
  const { accepted } = result;
  return { draft, providerId: (accepted.replayed ? null : accepted.written.provider_id) ?? DEFAULT_PROVIDER };
}

/** A name of the key that is unique among all brands; null without a key. */
function keyName({ draft, idempotencyKey }: Submission): string | null {
  return idempotencyKey === null ? null : `${draft.brand_id}/${draft.test}/${idempotencyKey}`;
}

/** Finds the leaders: the first of the messages with the same key, and every message without a key. */
function findLeaders(rows: readonly Row[]): Map<Row, Row> {
  const first = new Map<string, Row>();
  return new Map(
    rows.map((row) => {
      const name = keyName(row);
      if (name === null) return [row, row];
      if (!first.has(name)) first.set(name, row);
      return [row, first.get(name) as Row];
    }),
  );
}

/** The result of a follower, which depends on that of its leader. */
function followerResult(row: Row, leader: Row, result: Result): Result | typeof AGAIN {
  const same =
    Buffer.compare(row.fingerprint ?? Buffer.alloc(0), leader.fingerprint ?? Buffer.alloc(0)) === 0;
  if (!result.ok) return same ? result : AGAIN;
  const { accepted } = result;
  const id = accepted.replayed ? accepted.id : accepted.written.id;
  const status = accepted.replayed ? accepted.status : 201;
  return replay({ fingerprint: leader.fingerprint as Buffer, status, resource_id: id }, row);
}

/** Bytes of a message in the statement, roughly. */
function bytesOf({ html, text, subject, headers, tags }: MessageDraft): number {
  const small = JSON.stringify([subject, headers, tags]).length;
  return small + Buffer.byteLength(html ?? '') + Buffer.byteLength(text ?? '');
}

type Outcome = Result | typeof AGAIN;

/** Accepts the submissions that arrive together as one group. */
function createGroups(ids: IdAllocator, deps: GroupDeps) {
  return createCoalescer<Submission & { bytes: number }, Outcome>({
    maxGroupSize: MAX_GROUP,
    bytes: { of: ({ bytes }) => bytes, max: MAX_GROUP_BYTES },
    // One group at a time: while it commits, the next one gathers, and larger groups cost less per message.
    concurrency: 1,
    intervalMs: GROUP_INTERVAL_MS,
    run: async (group) => {
      const taken = await ids.take(group.length);
      const rows: Row[] = group.map((submission, index) => ({ ...submission, id: taken[index] ?? 0 }));
      const leaderOf = findLeaders(rows);
      const leaders = rows.filter((row) => leaderOf.get(row) === row);
      const accepted = await acceptGroup(leaders, deps);
      deps.onQueued(leaders.flatMap(({ draft }, index) => queuedMessage(draft, accepted[index]) ?? []));
      const results = new Map(leaders.map((row, index) => [row, accepted[index] as Result]));
      return rows.map((row) => {
        const leader = leaderOf.get(row) as Row;
        const result = results.get(leader) as Result;
        return leader === row ? result : followerResult(row, leader, result);
      });
    },
  });
}

/**
 * Accepts messages: each is committed with its queue row and its key before the response.
 *
 * Submissions that arrive together become a group, written by one statement. If several submissions have the same key,
 * the first leads, and its followers replay its result. Messages of accounts that have reached a limit are left out,
 * and for one second further ones are refused without asking the database, unless the account may send more meanwhile.
 *
 * Messages that cost something form groups of their own, so that the others do not wait for locks on the accounts'
 * money. So do messages of test keys, which wait until other test messages of their accounts are counted.
 * @returns a function that accepts one submission
 * @throws AppError idempotency_conflict, sandbox_limit_reached, spend_cap_reached, insufficient_funds, unavailable
 */
export function createAcceptor(deps: AcceptDeps): (submission: Submission) => Promise<Accepted> {
  const ids = createIdAllocator(deps.pool, MESSAGE_ID_SEQUENCE);
  const admission = createAdmission(deps.pool, deps.limits);
  const payers = createPayers(deps.pool);
  const known = new KnownRefusals();
  deps.watchFunds((accountIds) => {
    admission.raise(accountIds);
    known.forget(accountIds);
  });
  const groupDeps = { ...deps, admission, payers, known };
  const unpaidDeps = { ...groupDeps, writeGroup: createUnpaidWriter(deps) };
  const unpaid = createGroups(ids, unpaidDeps);
  const tests = createGroups(ids, unpaidDeps);
  const paid = createGroups(ids, { ...groupDeps, writeGroup: createPaidWriter({ ...deps, payers, known }) });
  return async (submission) => {
    const { draft, idempotencyKey } = submission;
    // A request with a key may repeat an accepted one, whatever its account has left.
    const refusal = idempotencyKey === null ? (admission.knownRefusal(draft) ?? known.find(draft)) : null;
    if (refusal) throw refusal;
    const item = { ...submission, bytes: bytesOf(draft) };
    for (;;) {
      const live = payers.pays(draft) ? paid : unpaid;
      const result = await (draft.test ? tests : live).submit(item);
      if (result === AGAIN) continue;
      if (result.ok) return result.accepted;
      if (result.error !== PAID) throw result.error;
    }
  };
}
