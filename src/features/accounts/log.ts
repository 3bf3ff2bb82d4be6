import type { Queryable } from '../../platform/db/queryable.ts';

/** A change that an operator made, or that Carillon made to an operator's settings. */
export interface OperatorChange {
  /** null: the change concerns the whole installation. */
  accountId: number | null;
  /** The operator's name, or `carillon`. */
  actor: string;
  /** Such as `account set`. */
  action: string;
  /** `{name: {from, to}}`, or details of the action. */
  changes: Record<string, unknown>;
}

export interface AccountLogRow {
  id: number;
  account_id: number | null;
  actor: string;
  action: string;
  changes: Record<string, unknown>;
  created_at: Date;
}

/** Adds a change to the log. @param trx the transaction of the change */
export async function logOperatorChange(trx: Queryable, change: OperatorChange): Promise<void> {
  const { accountId, actor, action, changes } = change;
  await trx.query('insert into account_log (account_id, actor, action, changes) values ($1, $2, $3, $4)', [
    accountId,
    actor,
    action,
    JSON.stringify(changes),
  ]);
}

/**
 * Lists changes, newest first.
 * @param accountId null: changes of the whole installation
 */
export async function listOperatorChanges(
  db: Queryable,
  accountId: number | null,
  limit: number,
): Promise<AccountLogRow[]> {
  const { rows } = await db.query<AccountLogRow>(
    `select id, account_id, actor, action, changes, created_at from account_log
     where account_id is not distinct from $1 order by id desc limit $2`,
    [accountId, limit],
  );
  return rows;
}
