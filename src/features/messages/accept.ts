import type pg from 'pg';
import {
  type Addition,
  MESSAGE_ID_SEQUENCE,
  type TrackingDefaults,
  writeMessages,
  type WrittenMessage,
} from '../../delivery/write-messages.ts';
import { DEFAULT_PROVIDER } from '../../delivery/backlog.ts';
import { type Admission, createAdmission, isLimitRefusal } from '../../delivery/limits/admission.ts';
import type { LimitSettings } from '../../delivery/limits/authority.ts';
import { messageClasses } from '../../delivery/message.ts';
import { AppError } from '../../errors.ts';
import { createCoalescer } from '../../platform/db/coalescer.ts';
import { createIdAllocator } from '../../platform/db/id-allocator.ts';
import { IDEMPOTENCY_DAYS, keySpace, requireSameFingerprint } from '../../platform/db/idempotency.ts';
import { isConnectionError, type Queryable } from '../../platform/db/queryable.ts';
import type { MessageDraft } from './draft.ts';
import { testEvents, testOutcome } from '../../delivery/test-messages.ts';

export const MESSAGES_ENDPOINT = 'POST /v1/my/messages';
const LIVE_KEYS = keySpace(MESSAGES_ENDPOINT, false);
export const TEST_KEYS = keySpace(MESSAGES_ENDPOINT, true);
const MAX_GROUP = 100;
/**
 * Under a steady load, messages gather for this long, because a statement costs as much as the rows of ten messages.
 */
const GROUP_INTERVAL_MS = 3;
const MAX_GROUP_BYTES = 8 * 1024 * 1024;
/** Other processes may use up what was left before the group is written. After so many tries it is written in parts. */
const MAX_LOOKS = 3;

export interface Submission {
  draft: MessageDraft;
  idempotencyKey: string | null;
  fingerprint: Buffer | null;
}

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
}

export interface QueuedMessage {
  draft: MessageDraft;
  /** The provider whose share of the queue it waits in. */
  providerId: number;
}

interface Row extends Submission {
  id: number;
}

type Result = { ok: true; accepted: Accepted } | { ok: false; error: unknown };

/** A follower's leader failed and the follower has another payload: it has to be submitted again. */
const AGAIN = Symbol('again');

/** The row of an earlier request with the same key. */
interface KeptKey {
  fingerprint: Buffer;
  status: number;
  resource_id: number;
}

interface GroupDeps extends AcceptDeps {
  admission: Admission;
}

/**
 * Takes the idempotency keys. Two requests with the same key: the second waits until the first has committed, and
 * its message is then not admitted.
 */
const idempotencyKeys: Addition = {
  name: 'keys',
  fields: { fingerprint: 'text' },
  admit: {
    cte: `keys as (
      insert into idempotency_keys as kept (brand_id, endpoint, key, fingerprint, status, resource_id)
      select brand_id, case when test then '${TEST_KEYS}' else '${LIVE_KEYS}' end, idempotency_key,
        decode(fingerprint, 'base64'), 201, id
      from input where idempotency_key is not null
      order by brand_id, 2, idempotency_key
      on conflict (brand_id, endpoint, key) do update
        set fingerprint = excluded.fingerprint, resource_id = excluded.resource_id, created_at = now()
        where kept.created_at < now() - interval '${IDEMPOTENCY_DAYS} days'
      returning resource_id
    )`,
    condition: 'i.idempotency_key is null or i.id in (select resource_id from keys)',
  },
};

async function write(
  rows: Row[],
  { pool, limits, tracking }: AcceptDeps,
): Promise<Map<number, WrittenMessage>> {
  const messages = rows.map(({ id, draft, idempotencyKey, fingerprint }) => ({
    ...draft,
    ...(draft.test ? testOutcome(draft) : {}),
    id,
    idempotency_key: idempotencyKey,
    fingerprint: fingerprint?.toString('base64'),
  }));
  const additions: Addition[] = [];
  if (rows.some((row) => row.idempotencyKey !== null)) additions.push(idempotencyKeys);
  if (rows.some((row) => row.draft.test)) additions.push(testEvents);
  const source = { class: messageClasses.transactional };
  return writeMessages(pool, messages, { source, limits, tracking, additions });
}

async function findWritten(client: Queryable, rows: Row[]): Promise<Map<number, WrittenMessage>> {
  const result = await client.query<WrittenMessage>(
    `select id, from_address, reply_to, tracking, created_at, null as provider_id
     from messages where id = any($1::bigint[])`,
    [rows.map((row) => row.id)],
  );
  return new Map(result.rows.map((row) => [row.id, row]));
}

/** Finds the keys that earlier requests took, by one statement. */
async function findKept(client: Queryable, rows: readonly Row[]): Promise<Map<Row, KeptKey>> {
  const keyed = rows.filter((row) => row.idempotencyKey !== null);
  if (keyed.length === 0) return new Map();
  const result = await client.query<KeptKey & { index: number }>(
    `select asked.index::int as index, kept.fingerprint, kept.status, kept.resource_id
     from unnest($1::bigint[], $2::text[], $3::text[]) with ordinality as asked (brand_id, endpoint, key, index)
     join idempotency_keys kept using (brand_id, endpoint, key)
     where kept.created_at >= now() - interval '${IDEMPOTENCY_DAYS} days'`,
    [
      keyed.map((row) => row.draft.brand_id),
      keyed.map((row) => (row.draft.test ? TEST_KEYS : LIVE_KEYS)),
      keyed.map((row) => row.idempotencyKey),
    ],
  );
  return new Map(result.rows.map((kept) => [keyed[kept.index - 1] as Row, kept]));
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
 * The connection was lost before the commit was confirmed: reports as accepted the messages that are in the database.
 */
async function resultsAfterLostConnection(rows: Row[], pool: pg.Pool, cause: unknown): Promise<Result[]> {
  const written = await findWritten(pool, rows).catch(() => {
    throw new AppError('unavailable', 'the database is unavailable; try again', { cause });
  });
  const error = new AppError('unavailable', 'the database connection was lost; try again', { cause });
  return rows.map((row) => writtenResult(row, written) ?? { ok: false, error });
}

/** Decides which messages of recently refused accounts replay, are refused, or are written with the rest. */
async function sortOut(rows: readonly Row[], { pool, admission }: GroupDeps) {
  const suspects = rows.filter((row) => admission.isSuspect(row.draft.account_id));
  const kept = await findKept(pool, suspects);
  const undecided = suspects.filter((row) => !kept.has(row));
  const refusals = await admission.refuse(undecided.map((row) => row.draft));
  const fitting = rows.filter((row) => !kept.has(row) && !refusals.has(row.draft));
  return { kept, refusals, fitting };
}

/**
 * Writes a group in one statement. If a limit refuses it, leaves out what does not fit and writes the others, again in
 * one statement. If it fails because of one of the messages, retries in parts.
 */
async function acceptGroup(rows: Row[], deps: GroupDeps, looks = 0): Promise<Result[]> {
  const { kept, refusals, fitting } = await sortOut(rows, deps);
  let written = new Map<number, WrittenMessage>();
  try {
    if (fitting.length > 0) written = await write(fitting, deps);
  } catch (error) {
    deps.admission.forget(fitting.map((row) => row.draft));
    if (isConnectionError(error)) return resultsAfterLostConnection(rows, deps.pool, error);
    if (isLimitRefusal(error)) {
      deps.admission.suspect(fitting.map((row) => row.draft));
      if (looks < MAX_LOOKS) return acceptGroup(rows, deps, looks + 1);
    }
    if (rows.length > 1) return acceptInParts(rows, deps);
    return [{ ok: false, error }];
  }
  const unwritten = fitting.filter((row) => !written.has(row.id));
  deps.admission.forget(unwritten.map((row) => row.draft));
  const found = new Map([...kept, ...(await findKept(deps.pool, unwritten))]);
  return rows.map((row) => {
    const error = refusals.get(row.draft);
    return error
      ? { ok: false, error }
      : (writtenResult(row, written) ?? unwrittenResult(found.get(row), row));
  });
}

/** Accepts each account's messages alone, then each message, so that one bad message does not fail the others. */
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

/** The name of the key among all brands, or null without a key. */
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

/**
 * Accepts messages: each is committed with its queue row and its key before the response.
 *
 * Submissions that arrive together become a group, written by one statement. Of several submissions with the same
 * key, the first leads; its followers replay what became of it. Messages of accounts that have reached a limit are
 * left out, and for a second refused without asking the database.
 * @returns a function that accepts one submission
 * @throws AppError idempotency_conflict, sandbox_limit_reached, unavailable
 */
export function createAcceptor(deps: AcceptDeps): (submission: Submission) => Promise<Accepted> {
  const ids = createIdAllocator(deps.pool, MESSAGE_ID_SEQUENCE);
  const admission = createAdmission(deps.pool, deps.limits);
  const coalescer = createCoalescer<Submission & { bytes: number }, Result | typeof AGAIN>({
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
      const accepted = await acceptGroup(leaders, { ...deps, admission });
      deps.onQueued(leaders.flatMap(({ draft }, index) => queuedMessage(draft, accepted[index]) ?? []));
      const results = new Map(leaders.map((row, index) => [row, accepted[index] as Result]));
      return rows.map((row) => {
        const leader = leaderOf.get(row) as Row;
        const result = results.get(leader) as Result;
        return leader === row ? result : followerResult(row, leader, result);
      });
    },
  });
  return async (submission) => {
    // A request with a key may repeat an accepted one, whatever its account has left.
    const refusal = submission.idempotencyKey === null ? admission.knownRefusal(submission.draft) : null;
    if (refusal) throw refusal;
    const item = { ...submission, bytes: bytesOf(submission.draft) };
    for (;;) {
      const result = await coalescer.submit(item);
      if (result === AGAIN) continue;
      if (!result.ok) throw result.error;
      return result.accepted;
    }
  };
}
