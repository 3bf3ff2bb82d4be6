import type { GrantCaller } from '../../platform/auth/grant-caller.ts';
import type { AccountScope } from '../../platform/db/model.ts';
import { countRows, type Page, type RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { ListMcpCallsQuery, McpCall } from './schema.ts';

/** What is known of a call once it has ended. */
export interface CallOutcome {
  /** Null: no account was needed, or the call was refused before one was chosen. */
  target: { accountId: number; brandId: number | null } | null;
  /** The operation id of the route. */
  operation: string | null;
  resourceId: string | null;
  /** `ok`, `asked`, or the code of the refusal. */
  outcome: string;
}

/** An id that a refused call names may be any text. */
const STORABLE = /^[\x21-\x7e]{1,100}$/;

/** What is known of a call when it begins. */
interface BegunCall {
  tool: string;
  requestId: string;
  accountId: number | null;
}

const outcomeValues = (call: CallOutcome | null) => [
  call?.target?.accountId ?? null,
  call?.target?.brandId ?? null,
  call?.operation ?? null,
  STORABLE.test(call?.resourceId ?? '') ? call?.resourceId : null,
  call?.outcome ?? null,
];

async function insertCall(
  db: Queryable,
  caller: GrantCaller,
  { tool, requestId, accountId }: BegunCall,
  ended: CallOutcome | null,
): Promise<number> {
  const { rows } = await db.query<{ id: number }>(
    `insert into mcp_calls (grant_id, user_id, client_id, client_name, tool, request_id, account_id, brand_id, operation,
       resource_id, outcome)
     values ($1, $2, $3, $4, $5, $6, coalesce($8::bigint, $7), $9, $10, $11, $12) returning id`,
    [
      caller.grantId,
      caller.userId,
      caller.clientId,
      caller.clientName,
      tool,
      requestId,
      accountId,
      ...outcomeValues(ended),
    ],
  );
  return (rows[0] as { id: number }).id;
}

/**
 * Records that a call begins, so that there is no change without an entry.
 * @returns the id of the entry, which has no outcome yet
 */
export function beginCall(db: Queryable, caller: GrantCaller, call: BegunCall): Promise<number> {
  return insertCall(db, caller, call, null);
}

export async function completeCall(db: Queryable, id: number, call: CallOutcome): Promise<void> {
  await db.query(
    `update mcp_calls set account_id = coalesce($2, account_id), brand_id = $3, operation = $4, resource_id = $5,
       outcome = $6
     where id = $1`,
    [id, ...outcomeValues(call)],
  );
}

/** Records a call that changed nothing, once it has ended: by one statement instead of two. */
export async function recordCall(
  db: Queryable,
  caller: GrantCaller,
  call: BegunCall,
  ended: CallOutcome,
): Promise<void> {
  await insertCall(db, caller, call, ended);
}

type CallRow = Omit<McpCall, 'created_at'> & { created_at: Date };

const COLUMNS = `c.id, c.created_at, c.grant_id, c.user_id, u.email as user_email, c.client_id, c.client_name, c.brand_id,
  c.tool, c.operation, c.resource_id, c.outcome, c.request_id`;

/** A page of the calls of an account, newest first. */
export async function listCalls(
  db: Queryable,
  { accountId }: AccountScope,
  query: ListMcpCallsQuery,
  page: Page,
): Promise<{ calls: McpCall[]; count: RowCount }> {
  const values: unknown[] = [accountId];
  const given = [
    ['user_id =', query.user_id],
    ['grant_id =', query.grant_id],
    ['tool =', query.tool],
    ['outcome =', query.outcome],
    ['created_at >', query.created_after],
    ['created_at <', query.created_before],
  ] as const;
  const conditions = given.flatMap(([test, value]) =>
    value === undefined ? [] : [`and c.${test} $${values.push(value)}`],
  );
  const source = `mcp_calls c where c.account_id = $1 ${conditions.join(' ')}`;
  const below = page.after === null ? '' : `and c.id < ${page.after}`;
  const { rows } = await db.query<CallRow>(
    `select ${COLUMNS} from (
       select * from ${source} ${below} order by c.id desc limit ${page.limit} offset ${page.offset}
     ) c left join users u on u.id = c.user_id order by c.id desc`,
    values,
  );
  const calls = rows.map((row) => ({ ...row, created_at: row.created_at.toISOString() }));
  return { calls, count: await countRows(db, source, values) };
}
