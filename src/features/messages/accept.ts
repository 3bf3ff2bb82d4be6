import type pg from 'pg';
import { sandboxAddress } from '../../delivery/sender-identity.ts';
import { AppError } from '../../errors.ts';
import { createCoalescer } from '../../platform/db/coalescer.ts';
import { createIdAllocator } from '../../platform/db/id-allocator.ts';
import { requireSameFingerprint } from '../../platform/db/idempotency.ts';
import { isConnectionError, type Queryable } from '../../platform/db/queryable.ts';
import type { MessageDraft } from './draft.ts';

export const MESSAGES_ENDPOINT = 'POST /v1/my/messages';
const MOST_AT_ONCE = 100;
const SANDBOX_CAP_SQLSTATE = 'CL001';

export interface Submission {
  draft: MessageDraft;
  idempotencyKey: string | null;
  fingerprint: Buffer | null;
}

/** The message of a submission: written now, or by an earlier request with the same key. */
export type Accepted =
  | { replayed: false; messageId: number; from: string | null; at: Date }
  | { replayed: true; messageId: number; status: number };

export interface AcceptDeps {
  pool: pg.Pool;
  mailDomain: string;
  /** Sends a month of an account that has no cap of its own. */
  sandboxMonthlyCap: number;
  /** Called after each commit. */
  onQueued: () => void;
}

interface Row extends Submission {
  id: number;
}

interface Written {
  id: number;
  from: string | null;
  at: Date;
}

/** What some messages of a group have, and others have not. */
interface Parts {
  keys: boolean;
  tests: boolean;
}

/** The first of two with the same key waits for the second to commit. */
const keysSql = `, keys as (
    insert into idempotency_keys as kept (brand_id, endpoint, key, fingerprint, status, resource_id)
    select "brandId", $3, key, decode(fingerprint, 'base64'), 201, id from input where key is not null
    order by "brandId", key
    on conflict (brand_id, endpoint, key) do update
      set fingerprint = excluded.fingerprint, resource_id = excluded.resource_id, created_at = now()
      where kept.created_at < now() - interval '7 days'
    returning resource_id
  )`;

const toldSql = `, told as (
    insert into message_events (message_id, attempt, type)
    select id, 1, unnest(events) from winners where test
  )`;

/**
 * Everything a group of messages is made of, in one statement: keys, messages, contents, queue rows or, of test keys,
 * outcomes, and the sandbox's count. That comes last, because another process's group of the same account waits for
 * its row until this one is committed. A part that nothing is in would cost as much as a message does.
 */
const acceptSql = ({ keys, tests }: Parts) => `
  with input as (
    select * from json_to_recordset($1) as i (
      id bigint, "accountId" bigint, "brandId" bigint, channel text, test boolean, segments smallint,
      "to" text, "toKey" text, "from" text, sandbox text, "replyTo" text, subject text, html text, "text" text,
      headers jsonb, tags jsonb, tracking jsonb, key text, fingerprint text, status text, events text[])
  )${keys ? keysSql : ''}, winners as (
    select i.*, case when i.channel = 'sms' then null else coalesce(i."from",
        case when coalesce(a.email_from_name, '') = '' then i.sandbox
          else '"' || replace(replace(a.email_from_name, '\\', '\\\\'), '"', '\\"') || '" <' || i.sandbox || '>' end)
      end as sender, a.sandbox_monthly_cap, a.kind
    from input i join accounts a on a.id = i."accountId"
    ${keys ? 'where i.key is null or i.id in (select resource_id from keys)' : ''}
  ), written as (
    insert into messages (id, account_id, brand_id, channel, status, test, segments, to_address, to_key,
      from_address, reply_to, subject, tags, tracking, idempotency_key, provider, sent_at, delivered_at, failure, bounce)
    select id, "accountId", "brandId", channel, status, test, segments, "to", "toKey", sender, "replyTo", subject,
      tags, tracking, key,
      case when test then 'test' end,
      case when status in ('delivered', 'bounced', 'complained') then now() end,
      case when status in ('delivered', 'complained') then now() end,
      case when status = 'failed' then '{"code": "rejected", "message": "the test recipient failed@"}'::jsonb end,
      case when status = 'bounced'
        then '{"type": "hard", "subtype": "no_such_mailbox", "diagnostic": "the test recipient bounced@"}'::jsonb end
    from winners
    returning id, from_address, created_at
  ), contents as (
    insert into message_contents (message_id, html, text, headers)
    select id, html, "text", headers from winners
    returning 1
  ), queued as (
    insert into send_queue (message_id, account_id, channel, class, due_at, queued_at)
    select id, "accountId", channel, 0, now(), now() from winners where not test
    returning 1
  )${tests ? toldSql : ''}, used as (
    insert into sandbox_usage as u (account_id, month, used)
    select "accountId", date_trunc('month', now() at time zone 'utc')::date, count(*)
    from winners where not test and channel = 'email' and kind = 'customer'
      and (select count(*) from written) + (select count(*) from contents) + (select count(*) from queued) > 0
    group by 1 order by 1
    on conflict (account_id, month) do update set used = u.used + excluded.used
    returning account_id, used
  ), capped as (
    select refuse_over_sandbox_cap(u.account_id) as refused from used u
    where u.used > (select coalesce(min(w.sandbox_monthly_cap), $2::int) from winners w where w."accountId" = u.account_id)
  )
  select id, from_address as "from", created_at as at, (select count(refused) from capped) as capped from written`;

const bare = { name: 'accept_messages', text: acceptSql({ keys: false, tests: false }) };
const withKeys = { name: 'accept_messages_with_keys', text: acceptSql({ keys: true, tests: false }) };
const withTests = { name: 'accept_messages_with_tests', text: acceptSql({ keys: false, tests: true }) };
const withBoth = { name: 'accept_messages_with_both', text: acceptSql({ keys: true, tests: true }) };

function statementOf({ keys, tests }: Parts): { name: string; text: string } {
  if (keys) return tests ? withBoth : withKeys;
  return tests ? withTests : bare;
}

const testOutcomes: Record<string, { status: string; events: string[] }> = {
  bounced: { status: 'bounced', events: ['sent', 'bounced'] },
  complained: { status: 'complained', events: ['sent', 'delivered', 'complained'] },
  failed: { status: 'failed', events: ['failed'] },
};

function outcomeOf(draft: MessageDraft): { status: string; events: string[] } {
  if (!draft.test) return { status: 'queued', events: [] };
  const local = draft.channel === 'email' ? draft.toKey.slice(0, draft.toKey.lastIndexOf('@')) : '';
  return testOutcomes[local] ?? { status: 'delivered', events: ['sent', 'delivered'] };
}

async function write(client: Queryable, rows: Row[], deps: AcceptDeps): Promise<Map<number, Written>> {
  const input = rows.map(({ id, draft, idempotencyKey, fingerprint }) => ({
    ...draft,
    ...outcomeOf(draft),
    id,
    sandbox: sandboxAddress(draft.accountId, deps.mailDomain),
    key: idempotencyKey,
    fingerprint: fingerprint?.toString('base64'),
  }));
  const keys = rows.some((row) => row.idempotencyKey !== null);
  const tests = rows.some((row) => row.draft.test);
  const result = await client.query<Written>({
    ...statementOf({ keys, tests }),
    values: [JSON.stringify(input), deps.sandboxMonthlyCap, ...(keys ? [MESSAGES_ENDPOINT] : [])],
  });
  return new Map(result.rows.map((row) => [row.id, row]));
}

async function findWritten(client: Queryable, rows: Row[]): Promise<Map<number, Written>> {
  const result = await client.query<Written>(
    'select id, from_address as "from", created_at as at from messages where id = any($1::bigint[])',
    [rows.map((row) => row.id)],
  );
  return new Map(result.rows.map((row) => [row.id, row]));
}

/** The key was taken before: by the same request, or by another one. */
async function replay(client: Queryable, row: Row): Promise<Accepted> {
  const { rows } = await client.query<{ fingerprint: Buffer; status: number; resource_id: number }>(
    'select fingerprint, status, resource_id from idempotency_keys where brand_id = $1 and endpoint = $2 and key = $3',
    [row.draft.brandId, MESSAGES_ENDPOINT, row.idempotencyKey],
  );
  const kept = rows[0];
  if (!kept || !row.fingerprint)
    throw new AppError('unavailable', 'the message could not be written; try again');
  requireSameFingerprint(kept.fingerprint, row.fingerprint);
  return { replayed: true, messageId: kept.resource_id, status: kept.status };
}

function refusal(error: unknown): unknown {
  if ((error as { code?: string }).code !== SANDBOX_CAP_SQLSTATE) return error;
  return new AppError('sandbox_limit_reached', "this month's sends of the sandbox are used up");
}

type Settled = { ok: true; accepted: Accepted } | { ok: false; error: unknown };

/** Write a group; where the statement fails for one of them, each alone; where its commit was not seen, look. */
async function writeGroup(rows: Row[], deps: AcceptDeps): Promise<Settled[]> {
  let written: Map<number, Written>;
  try {
    written = await write(deps.pool, rows, deps);
  } catch (error) {
    if (isConnectionError(error)) {
      written = await findWritten(deps.pool, rows).catch(() => {
        throw new AppError('unavailable', 'the database is away', { cause: error });
      });
      if (written.size < rows.length) {
        const lost = new AppError('unavailable', 'the database connection was lost; try again', {
          cause: error,
        });
        return rows.map((row) => settledOf(row, written) ?? { ok: false, error: lost });
      }
    } else if (rows.length === 1) {
      return [{ ok: false, error: refusal(error) }];
    } else {
      return writeApart(rows, deps);
    }
  }
  return Promise.all(
    rows.map(async (row): Promise<Settled> => {
      const settled = settledOf(row, written);
      if (settled) return settled;
      return replay(deps.pool, row).then(
        (accepted) => ({ ok: true, accepted }),
        (error: unknown) => ({ ok: false, error }),
      );
    }),
  );
}

/** By account, then by message, so that one account at its cap does not slow the others. */
async function writeApart(rows: Row[], deps: AcceptDeps): Promise<Settled[]> {
  const settled = new Map<Row, Settled>();
  const accounts = new Map<number, Row[]>();
  for (const row of rows) {
    accounts.set(row.draft.accountId, [...(accounts.get(row.draft.accountId) ?? []), row]);
  }
  const parts = accounts.size > 1 ? [...accounts.values()] : rows.map((row) => [row]);
  for (const part of parts) {
    const results = await writeGroup(part, deps);
    part.forEach((row, index) => settled.set(row, results[index] as Settled));
  }
  return rows.map((row) => settled.get(row) as Settled);
}

function settledOf(row: Row, written: Map<number, Written>): Settled | null {
  const found = written.get(row.id);
  if (!found) return null;
  return { ok: true, accepted: { replayed: false, messageId: row.id, from: found.from, at: found.at } };
}

/** Followers of a key that is in the group already wait for their leader, then read what it wrote. */
function splitFollowers(rows: Row[]): { leaders: Row[]; followers: Row[] } {
  const seen = new Set<string>();
  const leaders: Row[] = [];
  const followers: Row[] = [];
  for (const row of rows) {
    const name = row.idempotencyKey === null ? null : `${row.draft.brandId}/${row.idempotencyKey}`;
    if (name !== null && seen.has(name)) followers.push(row);
    else leaders.push(row);
    if (name !== null) seen.add(name);
  }
  return { leaders, followers };
}

/**
 * Accepts messages: each is committed with its queue row and its key before the answer.
 * @returns a function that writes one submission, grouped with those that arrive with it
 * @throws AppError idempotency_conflict, sandbox_limit_reached, unavailable
 */
export function createAcceptor(deps: AcceptDeps): (submission: Submission) => Promise<Accepted> {
  const ids = createIdAllocator(deps.pool, 'messages_id_seq');
  const coalescer = createCoalescer<Submission, Settled>({
    most: MOST_AT_ONCE,
    // One group at a time: its commit gives the next one time to gather, and larger groups cost less a message.
    concurrency: 1,
    run: async (group) => {
      const taken = await ids.take(group.length);
      const rows = group.map((submission, index) => ({ ...submission, id: taken[index] ?? 0 }));
      const { leaders, followers } = splitFollowers(rows);
      const settled = new Map<Row, Settled>();
      (await writeGroup(leaders, deps)).forEach((each, index) => settled.set(leaders[index] as Row, each));
      for (const row of followers) settled.set(row, (await writeGroup([row], deps))[0] as Settled);
      deps.onQueued();
      return rows.map((row) => settled.get(row) as Settled);
    },
  });
  return async (submission) => {
    const settled = await coalescer.submit(submission);
    if (!settled.ok) throw settled.error;
    return settled.accepted;
  };
}
