import type pg from 'pg';
import {
  type Addition,
  MESSAGE_ID_SEQUENCE,
  writeMessages,
  type WrittenMessage,
} from '../../delivery/write-messages.ts';
import type { LimitSettings } from '../../delivery/limits/authority.ts';
import { messageClasses } from '../../delivery/message.ts';
import { AppError } from '../../errors.ts';
import { createCoalescer } from '../../platform/db/coalescer.ts';
import { createIdAllocator } from '../../platform/db/id-allocator.ts';
import { IDEMPOTENCY_DAYS, keySpace, requireSameFingerprint } from '../../platform/db/idempotency.ts';
import { isConnectionError, type Queryable } from '../../platform/db/queryable.ts';
import type { MessageDraft } from './draft.ts';
import { testEvents, testOutcome } from './test-key.ts';

const ENDPOINT = 'POST /v1/my/messages';
const LIVE_KEYS = keySpace(ENDPOINT, false);
const TEST_KEYS = keySpace(ENDPOINT, true);
const MAX_GROUP = 100;

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
  /** Called after each commit with the messages of the group, including those that were not written. */
  onQueued: (drafts: readonly MessageDraft[]) => void;
}

interface Row extends Submission {
  id: number;
}

type Result = { ok: true; accepted: Accepted } | { ok: false; error: unknown };

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

async function write(rows: Row[], { pool, limits }: AcceptDeps): Promise<Map<number, WrittenMessage>> {
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
  return writeMessages(pool, messages, { source, limits, additions });
}

async function findWritten(client: Queryable, rows: Row[]): Promise<Map<number, WrittenMessage>> {
  const result = await client.query<WrittenMessage>(
    'select id, from_address, reply_to, created_at from messages where id = any($1::bigint[])',
    [rows.map((row) => row.id)],
  );
  return new Map(result.rows.map((row) => [row.id, row]));
}

/** Finds the message of an earlier request with the same key. */
async function findReplayed(client: Queryable, row: Row): Promise<Accepted> {
  const { rows } = await client.query<{ fingerprint: Buffer; status: number; resource_id: number }>(
    'select fingerprint, status, resource_id from idempotency_keys where brand_id = $1 and endpoint = $2 and key = $3',
    [row.draft.brand_id, row.draft.test ? TEST_KEYS : LIVE_KEYS, row.idempotencyKey],
  );
  const kept = rows[0];
  if (!kept || !row.fingerprint)
    throw new AppError('unavailable', 'the message could not be written; try again');
  requireSameFingerprint(kept.fingerprint, row.fingerprint);
  return { replayed: true, id: kept.resource_id, status: kept.status };
}

function replay(client: Queryable, row: Row): Promise<Result> {
  return findReplayed(client, row).then(
    (accepted) => ({ ok: true, accepted }),
    (error: unknown) => ({ ok: false, error }),
  );
}

function writtenResult(row: Row, written: Map<number, WrittenMessage>): Result | null {
  const message = written.get(row.id);
  return message ? { ok: true, accepted: { replayed: false, written: message } } : null;
}

/** The connection was lost before the commit was confirmed: reports as accepted the messages that are in the database. */
async function resultsAfterLostConnection(rows: Row[], pool: pg.Pool, cause: unknown): Promise<Result[]> {
  const written = await findWritten(pool, rows).catch(() => {
    throw new AppError('unavailable', 'the database is unavailable; try again', { cause });
  });
  const error = new AppError('unavailable', 'the database connection was lost; try again', { cause });
  return rows.map((row) => writtenResult(row, written) ?? { ok: false, error });
}

/** Writes a group in one statement. If the statement fails because of one of the messages, retries in parts. */
async function acceptGroup(rows: Row[], deps: AcceptDeps): Promise<Result[]> {
  let written: Map<number, WrittenMessage>;
  try {
    written = await write(rows, deps);
  } catch (error) {
    if (isConnectionError(error)) return resultsAfterLostConnection(rows, deps.pool, error);
    if (rows.length > 1) return acceptInParts(rows, deps);
    return [{ ok: false, error }];
  }
  // A message that was not written has a key that an earlier request took.
  return Promise.all(rows.map(async (row) => writtenResult(row, written) ?? replay(deps.pool, row)));
}

/** Accepts each account's messages alone, then each message, so that an account at its cap does not slow the others. */
async function acceptInParts(rows: Row[], deps: AcceptDeps): Promise<Result[]> {
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

/** Splits off the followers: messages whose key another message of the group has, too. */
function splitFollowers(rows: Row[]): { leaders: Row[]; followers: Row[] } {
  const seen = new Set<string>();
  const leaders: Row[] = [];
  const followers: Row[] = [];
  for (const row of rows) {
    const name =
      row.idempotencyKey === null ? null : `${row.draft.brand_id}/${row.draft.test}/${row.idempotencyKey}`;
    if (name !== null && seen.has(name)) followers.push(row);
    else leaders.push(row);
    if (name !== null) seen.add(name);
  }
  return { leaders, followers };
}

/**
 * Accepts messages: each is committed with its queue row and its key before the response.
 *
 * Submissions that arrive together become a group, written by one statement. Of several submissions with the same
 * key, the first leads; its followers are tried after it, one by one, and replay what it wrote.
 * @returns a function that accepts one submission
 * @throws AppError idempotency_conflict, sandbox_limit_reached, unavailable
 */
export function createAcceptor(deps: AcceptDeps): (submission: Submission) => Promise<Accepted> {
  const ids = createIdAllocator(deps.pool, MESSAGE_ID_SEQUENCE);
  const coalescer = createCoalescer<Submission, Result>({
    maxGroupSize: MAX_GROUP,
    // One group at a time: while it commits, the next one gathers, and larger groups cost less per message.
    concurrency: 1,
    run: async (group) => {
      const taken = await ids.take(group.length);
      const rows = group.map((submission, index) => ({ ...submission, id: taken[index] ?? 0 }));
      const { leaders, followers } = splitFollowers(rows);
      const parts = [leaders, ...followers.map((row) => [row])];
      const results = await inOrder(rows, parts, (part) => acceptGroup(part, deps));
      deps.onQueued(group.map(({ draft }) => draft));
      return results;
    },
  });
  return async (submission) => {
    const result = await coalescer.submit(submission);
    if (!result.ok) throw result.error;
    return result.accepted;
  };
}
