import type { Queryable } from '../db/queryable.ts';

/** A change by a user or an API key. */
export interface AuditedRequest {
  actorKind: 'user' | 'api_key';
  actorId: number;
  /** Null: the change concerns the user, and so each account that the user belongs to. */
  accountId: number | null;
  brandId: number | null;
  /** The operation id of the route. */
  action: string;
  /** What the path names; null if it names nothing. */
  resourceId: string | null;
  ip: string | null;
  requestId: string;
}

/** SQL: the accounts of an entry. @param account null: those of the user */
const accountsSql = (account: string, user: string) =>
  `(select id from accounts where id = ${account}
    union select account_id from memberships where ${account}::bigint is null and user_id = ${user})`;

const INSERT = `
insert into audit_entries (account_id, brand_id, actor_kind, actor_id, actor_name, action, resource_id, ip, request_id, status)
select a.id, $2, $3, $4,
  case when $3 = 'user' then (select email from users where id = $4)
    else (select concat_ws(' ', k.display_prefix, nullif(k.name, '')) from (
      select display_prefix, name from api_keys where id = $4
      union all select display_prefix, name from send_keys where id = $4) k) end,
  $5, $6, $7, $8, $9::smallint
from ${accountsSql('$1', `$4 and $3 = 'user'`)} a`;

const valuesOf = (request: AuditedRequest, status: number | null) => [
  request.accountId,
  request.brandId,
  request.actorKind,
  request.actorId,
  request.action,
  request.resourceId,
  request.ip,
  request.requestId,
  status,
];

/** Records that a change begins. @returns the ids of the entries, which have no status yet */
export async function beginEntries(db: Queryable, request: AuditedRequest): Promise<number[]> {
  const { rows } = await db.query<{ id: number }>(`${INSERT} returning id`, valuesOf(request, null));
  return rows.map(({ id }) => id);
}

/** @param resourceId the resource in the response, if the path names none */
export async function completeEntries(
  db: Queryable,
  ids: readonly number[],
  status: number,
  resourceId: string | null,
): Promise<void> {
  await db.query(
    'update audit_entries set status = $2, resource_id = coalesce(resource_id, $3) where id = any ($1)',
    [ids, status, resourceId],
  );
}

/** Removes the entries of a request that changed nothing. */
export async function dropEntries(db: Queryable, ids: readonly number[]): Promise<void> {
  await db.query('delete from audit_entries where id = any ($1)', [ids]);
}

/** Records a 403. The same one is recorded at most once a minute, so that refusals cannot fill the log. */
export async function insertRefusal(db: Queryable, request: AuditedRequest, status: number): Promise<void> {
  await db.query(
    `${INSERT} where not exists (
       select 1 from audit_entries e
       where e.account_id = a.id and e.actor_kind = $3 and e.actor_id = $4 and e.action = $5 and e.status = $9
         and e.created_at > now() - interval '1 minute')`,
    valuesOf(request, status),
  );
}

/**
 * Records that a user joined an account, to which the user did not belong when the request began.
 * @param trx the transaction in which the user joins
 */
export async function insertJoining(
  trx: Queryable,
  { accountId, userId, action, resourceId, status }: Joining,
): Promise<void> {
  await trx.query(
    `insert into audit_entries (account_id, actor_kind, actor_id, actor_name, action, resource_id, status)
     select $1, 'user', id, email, $3, $4, $5 from users where id = $2`,
    [accountId, userId, action, String(resourceId), status],
  );
}

export interface Joining {
  accountId: number;
  userId: number;
  action: 'acceptInvitation' | 'acceptOwnInvitation';
  /** The invitation. */
  resourceId: number;
  status: number;
}

/** A change by a command. */
export interface OperatorEntry {
  /** The command, such as `user add`. */
  action: string;
  operator: string;
  resourceId: number | null;
}

/**
 * Records a change by an operator.
 * @param trx the transaction that makes the change
 * @param subject the account, or the user whose accounts it concerns
 */
export async function insertOperatorEntry(
  trx: Queryable,
  subject: { accountId: number } | { userId: number },
  { action, operator, resourceId }: OperatorEntry,
): Promise<void> {
  const [accountId, userId] = 'accountId' in subject ? [subject.accountId, null] : [null, subject.userId];
  await trx.query(
    `insert into audit_entries (account_id, actor_kind, actor_name, action, resource_id)
     select a.id, 'operator', $3, $4, $5 from ${accountsSql('$1', '$2')} a`,
    [accountId, userId, operator, action, resourceId === null ? null : String(resourceId)],
  );
}
